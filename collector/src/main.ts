// The collector's process.
import { OtlpHttpPublisher } from "@isochrone/bus/otlp-http";
import { serviceMain } from "@isochrone/runtime/main";
import { staticTargets } from "./adapters/static-targets.ts";
import { createCollector } from "./collector.ts";
import { createPages } from "./pages.ts";
import { collectorSettings } from "./settings.ts";

await serviceMain({
  name: "collector",
  section: collectorSettings,
  env: process.env,
  create(config, surroundings) {
    const { logger } = surroundings;
    const bus = new OtlpHttpPublisher({
      url: `${config.aggregatorUrl.replace(/\/+$/, "")}/v1/metrics`,
      onPartialSuccess: (partial) =>
        logger.warnOnce("partial-success", "aggregator did not take everything", { partial }),
    });
    const targets = staticTargets(config.staticTargets);
    return [createPages(config, surroundings), createCollector(config, { ...surroundings, bus, targets })];
  },
});
