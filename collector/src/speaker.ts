import type { ProvenSpeaker } from "@isochrone/telemetry";
import type { CollectorConfig } from "./settings.ts";

/**
 * As whom a collector speaks: for its node. One that asks Prometheus reports of many nodes: it is the service
 * `collector`, which the aggregator's settings have to name.
 */
export function collectorSpeaker({ mode, node }: Pick<CollectorConfig, "mode" | "node">): ProvenSpeaker {
  return mode === "prometheus" ? { kind: "service", name: "collector" } : { kind: "node", node };
}
