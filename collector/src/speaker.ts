import type { ProvenSpeaker } from "@isochrone/telemetry";
import type { CollectorConfig } from "./settings.ts";

/**
 * Identity of a collector: its node. In Prometheus mode it reports many nodes, so it is service `collector`,
 * which the aggregator must trust explicitly.
 */
export function collectorSpeaker({ mode, node }: Pick<CollectorConfig, "mode" | "node">): ProvenSpeaker {
  return mode === "prometheus" ? { kind: "service", name: "collector" } : { kind: "node", node };
}
