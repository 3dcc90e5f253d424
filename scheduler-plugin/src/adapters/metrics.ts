import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";

/** Seconds. The guard polls four times a second. */
const CANARY_BUCKETS = [0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Seconds. The extender's latency bounds the throughput of the scheduling loop. */
const REQUEST_BUCKETS = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5];

export interface SchedulerMetrics {
  readonly requests: Counter<"verb" | "outcome">;
  readonly requestSeconds: Histogram<"verb">;
  readonly rejectedNodes: Counter;
  readonly decisions: Counter<"decided_by">;
  readonly neutralParts: Counter<"part">;
  readonly unrecordedDecisions: Counter<"reason">;
  readonly graphAge: Gauge<"graph">;
  readonly graphRefreshFailures: Counter<"reason">;
  readonly graphPartsDropped: Counter<"kind">;
  readonly ledgerEntries: Gauge;
  readonly canary: CanaryMetrics;
  readonly droppedEvents: Counter<"reason">;
}

export interface CanaryMetrics {
  readonly canaries: Counter<"outcome">;
  readonly seconds: Histogram;
  readonly injectable: Gauge;
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
    unrecordedDecisions: new Counter({
      name: "isochrone_scheduler_unrecorded_decisions_total",
      help: "Answers that were given and not kept, by reason: the pod has a node already (settled), the cluster did not show it within 5 s (unconfirmed), too many wait to be shown (crowded), or its nodes have names that no node can have (misshapen).",
      labelNames: ["reason"],
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
    graphPartsDropped: new Counter({
      name: "isochrone_scheduler_graph_parts_dropped_total",
      help: "Nodes, links and other parts of graphs that were left out on reading because they break the graphs' rules, by kind.",
      labelNames: ["kind"],
      registers,
    }),
    ledgerEntries: new Gauge({
      name: "isochrone_scheduler_ledger_entries",
      help: "Pods that count as placed though the graphs don't show them: bound, nominated, or decided here a moment ago.",
      registers,
    }),
    canary: createCanaryMetrics(registers),
    droppedEvents: new Counter({
      name: "isochrone_scheduler_events_dropped_total",
      help: "Events about pods that were not written, by reason.",
      labelNames: ["reason"],
      registers,
    }),
  };
}

function createCanaryMetrics(registers: Registry[]): CanaryMetrics {
  return {
    canaries: new Counter({
      name: "isochrone_scheduler_canaries_total",
      help: "Canary pods that request the managed resource, by outcome (scheduled, failed).",
      labelNames: ["outcome"],
      registers,
    }),
    seconds: new Histogram({
      name: "isochrone_scheduler_canary_seconds",
      help: "Time from a canary's creation until it was seen to have a node.",
      buckets: CANARY_BUCKETS,
      registers,
    }),
    injectable: new Gauge({
      name: "isochrone_scheduler_managed_resource_injectable",
      help: "1 while canaries show that pods which request the managed resource are scheduled, else 0.",
      registers,
    }),
  };
}
