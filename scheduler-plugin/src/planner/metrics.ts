import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";

const LANDING_OUTCOMES = ["landed", "elsewhere", "unschedulable", "timed_out", "gone"] as const;
export type LandingOutcome = (typeof LANDING_OUTCOMES)[number];

const RELEASE_REASONS = [
  "unsupported",
  "infeasible",
  "no_graph",
  "stale_graph",
  "unknown_workflow",
  "nominated_by_other",
  "replacement",
  "deadline",
  "error",
] as const;
export type ReleaseReason = (typeof RELEASE_REASONS)[number];

const PLAN_BUCKETS = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const GATED_BUCKETS = [0.25, 0.5, 1, 2, 5, 10, 30, 60];

export interface PlannerMetrics {
  readonly plans: Counter<"outcome">;
  readonly planSeconds: Histogram;
  readonly planGap: Histogram;
  readonly landings: Counter<"outcome">;
  readonly released: Counter<"reason">;
  readonly gatedSeconds: Histogram;
  readonly gatedPods: Gauge;
  readonly awaited: Gauge;
  readonly leading: Gauge;
  readonly beating: Gauge;
  readonly moves: Counter<"outcome">;
  readonly replaced: Counter<"outcome">;
  readonly writeFailures: Counter<"write" | "reason">;
  readonly droppedEvents: Counter<"reason">;
}

export function createPlannerMetrics(registry: Registry): PlannerMetrics {
  const registers = [registry];
  return {
    plans: new Counter({
      name: "isochrone_planner_plans_total",
      help: "Plans of workflows, by outcome (planned: every pod has a node, partial, infeasible, failed).",
      labelNames: ["outcome"],
      registers,
    }),
    planSeconds: new Histogram({
      name: "isochrone_planner_plan_seconds",
      help: "Time that the search for a plan took.",
      buckets: PLAN_BUCKETS,
      registers,
    }),
    planGap: new Histogram({
      name: "isochrone_planner_plan_gap_ratio",
      help: "Share of a plan's cost that is above the lower bound (1 - bound / cost): at most so much could be saved.",
      buckets: [0, 0.001, 0.01, 0.05, 0.1, 0.5],
      registers,
    }),
    landings: new Counter({
      name: "isochrone_planner_landings_total",
      help: "Pods released by plan, by what became of them (landed: bound to the planned node, elsewhere, unschedulable, timed_out, gone).",
      labelNames: ["outcome"],
      registers,
    }),
    released: new Counter({
      name: "isochrone_planner_unplanned_total",
      help: "Gated pods released without a plan, by reason.",
      labelNames: ["reason"],
      registers,
    }),
    gatedSeconds: new Histogram({
      name: "isochrone_planner_gated_seconds",
      help: "How long pods waited for nothing but us, from when they were seen until their gate was open.",
      buckets: GATED_BUCKETS,
      registers,
    }),
    gatedPods: new Gauge({
      name: "isochrone_planner_gated_pods",
      help: "Pods that wait for the planner and for nobody else.",
      registers,
    }),
    awaited: new Gauge({
      name: "isochrone_planner_awaited_pods",
      help: "Pods released by plan that are not bound yet.",
      registers,
    }),
    leading: new Gauge({
      name: "isochrone_planner_leading",
      help: "1 on the replica that plans, else 0.",
      registers,
    }),
    beating: new Gauge({
      name: "isochrone_planner_heartbeat",
      help: "1 while the heartbeat is renewed, by which new pods are gated, else 0.",
      registers,
    }),
    moves: new Counter({
      name: "isochrone_planner_moves_total",
      help: "Replacements of evicted pods, by whether they were planned to the recorded target (redeemed, refused); expired: none came for a pod that was moved by hand.",
      labelNames: ["outcome"],
      registers,
    }),
    ...createWriteMetrics(registers),
  };
}

function createWriteMetrics(
  registers: Registry[],
): Pick<PlannerMetrics, "replaced" | "writeFailures" | "droppedEvents"> {
  return {
    replaced: new Counter({
      name: "isochrone_planner_stranded_pods_total",
      help: "Pods that none of their planned nodes took any more, by whether they were evicted for their controllers to make others (replaced, failed).",
      labelNames: ["outcome"],
      registers,
    }),
    writeFailures: new Counter({
      name: "isochrone_planner_write_failures_total",
      help: "Writes that failed for good, by kind (nominate, open, clear, replace, heartbeat) and the API server's reason.",
      labelNames: ["write", "reason"],
      registers,
    }),
    droppedEvents: new Counter({
      name: "isochrone_planner_events_dropped_total",
      help: "Events about planned pods that were not written, by reason.",
      labelNames: ["reason"],
      registers,
    }),
  };
}
