// The collector's process.
import { type ProvenSpeaker } from "@isochrone/telemetry";
import { openPublisher } from "@isochrone/bus/open";
import { busSettings } from "@isochrone/bus/settings";
import { kubernetesSettings, openStore } from "@isochrone/kubernetes/api-server";
import { authorizedFetch } from "@isochrone/runtime";
import { serviceMain } from "@isochrone/runtime/main";
import { createCollector } from "./collector.ts";
import { nodeTargets } from "./node-mode.ts";
import { createPages } from "./pages.ts";
import { createPrometheusCollector } from "./prometheus/prometheus-collector.ts";
import { collectorSettings, type CollectorConfig } from "./settings.ts";

/** One that asks Prometheus reports of many nodes: it is a service, which the aggregator's settings have to name. */
function speakerOf({ mode, node }: CollectorConfig): ProvenSpeaker {
  return mode === "prometheus" ? { kind: "service", name: "collector" } : { kind: "node", node };
}

await serviceMain({
  name: "collector",
  section: collectorSettings,
  shared: { bus: busSettings, kubernetes: kubernetesSettings },
  env: process.env,
  async create(config, surroundings, shared) {
    const { clock, logger } = surroundings;
    const { aggregatorTokenFile: tokenFile, aggregatorCaFile: caFile } = config;
    const fetch = authorizedFetch({ tokenFile, caFile, clock });
    const { bus, service: carrying } = await openPublisher(shared.bus, {
      ...surroundings,
      otlpHttp: {
        url: `${config.aggregatorUrl.replace(/\/+$/, "")}/v1/metrics`,
        fetch,
        onPartialSuccess: (partial) =>
          logger.warnOnce("partial-success", "aggregator did not take everything", { partial }),
      },
      recordKey: { aggregatorUrl: config.aggregatorUrl, speaker: speakerOf(config), fetch },
    });
    const pages = createPages(config, surroundings);
    if (config.mode === "prometheus")
      return [pages, carrying, createPrometheusCollector(config, { ...surroundings, bus })];
    const cluster = await openStore(shared.kubernetes, {
      ...surroundings,
      env: process.env,
      service: "collector",
    });
    const store = cluster?.store ?? null;
    const { targets, service } = nodeTargets(config, { ...surroundings, store });
    const collector = createCollector(config, { ...surroundings, bus, targets });
    return [...(cluster === null ? [] : [cluster.service]), pages, carrying, service, collector];
  },
});
