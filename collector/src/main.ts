import { openPublisher } from "@isochrone/bus/open";
import { busSettings } from "@isochrone/bus/settings";
import { kubernetesSettings, openStore } from "@isochrone/kubernetes/api-server";
import { authorizedFetch, checkedFileIfAny } from "@isochrone/runtime";
import { serviceMain } from "@isochrone/runtime/main";
import { readOutside } from "@isochrone/telemetry/outside";
import { createCollector } from "./collector.ts";
import { createConnectionCollector } from "./connections/connection-collector.ts";
import { nodeTargets } from "./node-mode.ts";
import { createPages } from "./pages.ts";
import { createPrometheusCollector } from "./prometheus/prometheus-collector.ts";
import { collectorSettings } from "./settings.ts";
import { collectorSpeaker } from "./speaker.ts";

/** The chart writes its value `outside` there. Without it, no address counts as outside of the cluster. */
const OUTSIDE_FILE = "/etc/isochrone/config/outside.yaml";

await serviceMain({
  name: "collector",
  section: collectorSettings,
  shared: { bus: busSettings, kubernetes: kubernetesSettings },
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
      recordKey: { aggregatorUrl: config.aggregatorUrl, speaker: collectorSpeaker(config), fetch },
    });
    const carrying = [
      { name: "pages", service: createPages(config, surroundings) },
      { name: "bus", service },
    ];
    if (config.mode === "connections") {
      const collector = createConnectionCollector(config, {
        ...surroundings,
        bus,
        outside: checkedFileIfAny(OUTSIDE_FILE, "outside", readOutside),
      });
      return [...carrying, { name: "collector", service: collector }];
    }
    if (config.mode === "prometheus") {
      const collector = createPrometheusCollector(config, { ...surroundings, bus });
      return [...carrying, { name: "collector", service: collector }];
    }
    const cluster = await openStore(shared.kubernetes, {
      ...surroundings,
      env: process.env,
      service: "collector",
    });
    const store = cluster?.store ?? null;
    const { targets, parts } = nodeTargets(config, { ...surroundings, store });
    const collector = createCollector(config, { ...surroundings, bus, targets });
    return [
      ...(cluster === null ? [] : [cluster.part]),
      ...carrying,
      ...parts,
      { name: "collector", service: collector },
    ];
  },
});
