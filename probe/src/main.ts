import { openPublisher } from "@isochrone/bus/open";
import { busSettings } from "@isochrone/bus/settings";
import { authorizedFetch } from "@isochrone/runtime";
import { serviceMain } from "@isochrone/runtime/main";
import { createProbe } from "./probe.ts";
import { probeSettings } from "./settings.ts";

await serviceMain({
  name: "probe",
  isLean: true,
  section: probeSettings,
  shared: { bus: busSettings },
  env: process.env,
  async create(config, surroundings, shared) {
    const { clock, logger } = surroundings;
    const { aggregatorTokenFile: tokenFile, aggregatorCaFile: caFile } = config;
    const fetch = authorizedFetch({ tokenFile, caFile, clock });
    const { bus, service } = await openPublisher(shared.bus, {
      ...surroundings,
      otlpHttp: {
        url: `${config.aggregatorUrl.replace(/\/+$/, "")}/v1/metrics`,
        fetch,
        onPartialSuccess: (partial) =>
          logger.warnOnce("partial-success", "aggregator did not take everything", { partial }),
      },
      recordKey: {
        aggregatorUrl: config.aggregatorUrl,
        speaker: { kind: "node", node: config.node },
        fetch,
      },
    });
    return [
      { name: "bus", service },
      { name: "probe", service: createProbe(config, { ...surroundings, bus, fetch }) },
    ];
  },
});
