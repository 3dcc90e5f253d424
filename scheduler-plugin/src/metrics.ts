// Names and labels of the scheduler's metrics, in one place.
import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";

/** Seconds: an extender's answer is throughput of the scheduling loop. */
const REQUEST_BUCKETS = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5];

export interface SchedulerMetrics {
  readonly requests: Counter<"verb" | "outcome">;
  readonly requestSeconds: Histogram<"verb">;
  readonly rejectedNodes: Counter;
  readonly decisions: Counter<"decided_by">;
  readonly neutralParts: Counter<"part">;
  readonly graphAge: Gauge<"graph">;
  readonly graphRefreshFailures: Counter<"reason">;
  readonly ledgerEntries: Gauge;
}

export function createSchedulerMetrics(registry: Registry): SchedulerMetrics {
  const registers = [registry];
  return {
    requests: new Counter({
      name: "isochrone_scheduler_requests_total",
      help: "Extender requests by verb and outcome (scored, neutral, not_ours, malformed).",
      labelNames: ["verb", "outcome"],
      registers,
    }),
    requestSeconds: new Histogram({
      name: "isochrone_scheduler_request_seconds",
      help: "Time from a parsed request to its answer's text.",
      labelNames: ["verb"],
      buckets: REQUEST_BUCKETS,
      registers,
    }),
    rejectedNodes: new Counter({
      name: "isochrone_scheduler_rejected_nodes_total",
      help: "Nodes that filter rejected for a declared maxNetworkCost.",
      registers,
    }),
    decisions: new Counter({
      name: "isochrone_scheduler_decisions_total",
      help: "Scored pods by the part that decided (none: nothing told the nodes apart).",
      labelNames: ["decided_by"],
      registers,
    }),
    neutralParts: new Counter({
      name: "isochrone_scheduler_neutral_parts_total",
      help: "Parts of a score that took no side, for want of fresh or complete input.",
      labelNames: ["part"],
      registers,
    }),
    graphAge: new Gauge({
      name: "isochrone_scheduler_graph_age_seconds",
      help: "Age of the newest graph read; more than three windows and it isn't used.",
      labelNames: ["graph"],
      registers,
    }),
    graphRefreshFailures: new Counter({
      name: "isochrone_scheduler_graph_refresh_failures_total",
      help: "Refreshes of the graphs that failed, by reason.",
      labelNames: ["reason"],
      registers,
    }),
    ledgerEntries: new Gauge({
      name: "isochrone_scheduler_ledger_entries",
      help: "Decisions that still count as placed.",
      registers,
    }),
  };
}
