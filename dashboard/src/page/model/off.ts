// What is off, what switching it on would bring, and how: settings of the chart's values. Pure.

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
  /** What is so. */
  readonly state: string;
  /** What switching it on would bring. */
  readonly brings: string;
  readonly how: string;
}

const OFF: Readonly<Record<Feature, Off>> = {
  scheduler: {
    state: "No scheduler-plugin is connected",
    brings: "decisions with their reasons, the best plan, and what it would save",
    how: "install the scheduler-plugin and set aggregator.decisionsUrl to its address",
  },
  planner: {
    state: "The planner is off",
    brings: "new pods of a workflow placed together, where their calls are fast",
    how: "set planner.enabled and webhook.enabled, and label the namespace isochrone.dev/placement=enabled",
  },
  descheduler: {
    state: "The descheduler is off",
    brings: "moves of pods that became badly placed",
    how: "set descheduler.mode: dry-run to see them here, evict to have them made",
  },
  dryRun: {
    state: "The descheduler only says what it would move",
    brings: "these moves, within its budgets",
    how: "set descheduler.mode: evict",
  },
  streams: {
    state: "Nobody runs stream jobs here",
    brings: "jobs placed with their flows, frames per second with what limits them, and links by use",
    how: "set streams.enabled of the scheduler-plugin, and aggregator.decisionsUrl",
  },
  prices: {
    state: "Nothing of this traffic has a price",
    brings: "the cost of each call a month, and what would be saved",
    how: "give the chart the value prices, or isochrone up the option --prices",
  },
  traffic: {
    state: "Nobody counts requests here",
    brings: "who calls whom and how often: workflows, network time per request, the bill and plans",
    how: "let the collector read Istio, Linkerd, Cilium or OpenTelemetry (collector.podTargets), or declare calls in an AppGroup",
  },
  levers: {
    state: "Nobody spreads these requests",
    brings: "zone weights that keep requests in time and in their zone",
    how: "set dispatch.levers of the scheduler-plugin, and annotate a Service with isochrone.dev/dispatch",
  },
};

/** One line: what switching it on would bring, and how. */
export function offLine(feature: Feature): string {
  const { brings, how } = OFF[feature];
  return `Switched on, it brings ${brings}: ${how}.`;
}

export function offState(feature: Feature): string {
  return OFF[feature].state;
}
