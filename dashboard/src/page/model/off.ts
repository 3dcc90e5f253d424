// Disabled features: the benefit of enabling each, and the chart values that do it. Pure.

export type Feature =
  | "scheduler"
  | "planner"
  | "descheduler"
  | "dryRun"
  | "streams"
  | "prices"
  | "traffic"
  | "levers";

interface Off {
  readonly state: string;
  /** Benefit of enabling it, as the beginning of a sentence. */
  readonly brings: string;
  readonly how: string;
}

const OFF: Readonly<Record<Feature, Off>> = {
  scheduler: {
    state: "No scheduler-plugin is connected",
    brings: "A scheduler-plugin brings decisions with their reasons, the best plan, and what it would save",
    how: "install the scheduler-plugin and set aggregator.decisionsUrl to its address",
  },
  planner: {
    state: "The planner is off",
    brings: "Switched on, it places new pods of a workflow together, where their calls are fast",
    how: "set planner.enabled and webhook.enabled, and label the namespace isochrone.dev/placement=enabled",
  },
  descheduler: {
    state: "The descheduler is off",
    brings: "Switched on, it moves pods that became badly placed",
    how: "set descheduler.mode: dry-run to see them here, evict to have them made",
  },
  dryRun: {
    state: "The descheduler only says what it would move",
    brings: "Mode evict makes these moves, within its budgets",
    how: "set descheduler.mode: evict",
  },
  streams: {
    state: "Nobody runs stream jobs here",
    brings: "Their controller places jobs with their flows, and says how fast they are and what limits them",
    how: "set streams.enabled of the scheduler-plugin, and aggregator.decisionsUrl",
  },
  prices: {
    state: "Nothing of this traffic has a price",
    brings: "Prices bring the cost of each call a month, and what would be saved",
    how: "give the chart the value prices, or isochrone up the option --prices",
  },
  traffic: {
    state: "Nobody counts requests here",
    brings:
      "Counted requests bring who calls whom and how often: workflows, network time per request, the bill and plans",
    how: "let the collector read Istio, Linkerd, Cilium or OpenTelemetry (collector.podTargets), or declare calls in an AppGroup",
  },
  levers: {
    state: "Nobody spreads these requests",
    brings: "A lever brings zone weights that keep requests in time and in their zone",
    how: "set dispatch.levers of the scheduler-plugin, and annotate a Service with isochrone.dev/dispatch",
  },
};

export function offLine(feature: Feature): string {
  const { brings, how } = OFF[feature];
  return `${brings}: ${how}.`;
}

export function offState(feature: Feature): string {
  return OFF[feature].state;
}
