// The probe's process.
import { OtlpHttpPublisher } from "@isochrone/bus/otlp-http";
import { serviceMain } from "@isochrone/runtime/main";
import { createProbe } from "./probe.ts";
import { probeSettings } from "./settings.ts";

await serviceMain({
  name: "probe",
  section: probeSettings,
  env: process.env,
  create(config, surroundings) {
    const { logger } = surroundings;
    const bus = new OtlpHttpPublisher({
      url: `${config.aggregatorUrl.replace(/\/+$/, "")}/v1/metrics`,
      onPartialSuccess: (partial) =>
        logger.warnOnce("partial-success", "aggregator did not take everything", { partial }),
    });
    return [createProbe(config, { ...surroundings, bus })];
  },
});
