import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";

export const LEFT_OUT_REASONS = ["too_many", "no_time", "too_large", "stale_graph", "error"] as const;
export type LeftOutReason = (typeof LEFT_OUT_REASONS)[number];

export interface ProposalMetrics {
  readonly rounds: Counter<"outcome">;
  readonly roundSeconds: Histogram;
  readonly proposals: Gauge;
  readonly leftOut: Gauge<"reason">;
}

export function createProposalMetrics(registry: Registry): ProposalMetrics {
  const registers = [registry];
  return {
    rounds: new Counter({
      name: "isochrone_proposals_rounds_total",
      help: "Rounds in which workflows that run were held against their best plans, by outcome (done, no_graph: none that is fresh, failed).",
      labelNames: ["outcome"],
      registers,
    }),
    roundSeconds: new Histogram({
      name: "isochrone_proposals_round_seconds",
      help: "Time that such a round took.",
      buckets: [0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    }),
    proposals: new Gauge({
      name: "isochrone_proposals",
      help: "Workflows with a proposal, moves or none, after the last round.",
      registers,
    }),
    leftOut: new Gauge({
      name: "isochrone_proposals_left_out",
      help: "Workflows without a proposal after the last round, by reason (too_many: others have more traffic, no_time, too_large, stale_graph, error).",
      labelNames: ["reason"],
      registers,
    }),
  };
}
