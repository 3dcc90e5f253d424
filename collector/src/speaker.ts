import type { ProvenSpeaker } from "@isochrone/telemetry";
import type { CollectorConfig } from "./settings.ts";

/** The node; in Prometheus mode service `collector`, which the aggregator must trust explicitly. */
export function collectorSpeaker({ mode, node }: Pick<CollectorConfig, "mode" | "node">): ProvenSpeaker {
  return mode === "prometheus" ? { kind: "service", name: "collector" } : { kind: "node", node };
}
