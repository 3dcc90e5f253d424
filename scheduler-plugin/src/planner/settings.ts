import { duration, flag, integer, number, oneOf, ratio, section } from "@isochrone/runtime";
import type { Section, SettingsOf } from "@isochrone/runtime";

/** How a plan reaches kube-scheduler. */
export const LANDINGS = ["nomination", "preferred-affinity"] as const;
export type Landing = (typeof LANDINGS)[number];

/** When the pods of a plan are let go. */
export const RELEASES = ["together", "ordered"] as const;
export type Release = (typeof RELEASES)[number];

const table = {
  enabled: flag({
    default: false,
    description:
      "Plan the pods that carry the gate isochrone.dev/placement. Needs a cluster; of several replicas one plans.",
  }),
  settleMs: duration({
    default: 300,
    min: 0,
    max: 60_000,
    description:
      "A workflow is planned when no pod of it has come for so long: pods that are created together are planned together.",
  }),
  maxSettleMs: duration({
    default: 2_000,
    min: 0,
    max: 60_000,
    description: "A workflow whose pods keep coming is planned after so long at the latest.",
  }),
  graphWaitMs: duration({
    default: 5_000,
    min: 0,
    max: 60_000,
    description:
      "How long pods wait for graphs that know their workflow; afterwards they are released without a plan.",
  }),
  planMs: duration({
    default: 1_000,
    min: 10,
    max: 10_000,
    description: "Time for the search of one plan; the best that was found by then is taken.",
  }),
  exact: flag({
    default: true,
    description:
      "Prove the best plan of very small problems (up to 40 pairs of a pod and a node) by integer programming, in a thread and within planMs.",
  }),
  deadlineMs: duration({
    default: 30_000,
    min: 1_000,
    max: 600_000,
    description:
      "A pod that waited for us so long is released without a plan. To be below gates.deadlineMs, which counts from the pod's creation.",
  }),
  maxPods: integer({
    default: 200,
    min: 1,
    max: 2_000,
    description:
      "Pods planned at once; of a larger workflow the rest is planned afterwards, around those placed.",
  }),
  hostnameMaxSkew: integer({
    default: 3,
    min: 0,
    max: 1_000,
    description:
      "How many replicas of a workload a node may have more than the one that has fewest, as kube-scheduler's default spreading asks for; here it is kept. 0: no limit.",
  }),
  zoneMaxSkew: integer({
    default: 5,
    min: 0,
    max: 1_000,
    description: "The same of zones. 0: no limit.",
  }),
  minNodes: integer({
    default: 2,
    min: 1,
    max: 1_000,
    description: "Nodes that the replicas of a workload are on at least, as far as it has so many.",
  }),
  minZones: integer({
    default: 2,
    min: 1,
    max: 1_000,
    description: "Zones likewise.",
  }),
  maxCpuUse: ratio({
    default: 0.75,
    description:
      "Share of a node's CPU beyond which what is really used there counts as overload, which plans avoid and the descheduler relieves. 0: use doesn't matter, requests alone do.",
  }),
  landing: oneOf(LANDINGS, {
    default: "nomination",
    description:
      "How kube-scheduler is told: status.nominatedNodeName, which it tries first; or a preferred node affinity, for schedulers that ignore nominations. Sampling leaves the preferred node out of large clusters: see the metric isochrone_planner_landings_total.",
  }),
  release: oneOf(RELEASES, {
    default: "together",
    description:
      "Whether all pods of a plan are released together, or a workload only when those before it in the topological order are bound or have failed. The annotation isochrone.dev/release of an AppGroup counts more.",
  }),
  bindTimeoutMs: duration({
    default: 30_000,
    min: 1_000,
    max: 600_000,
    description:
      "A released pod that kube-scheduler neither bound nor found unschedulable for so long loses its nomination, which would reserve its node.",
  }),
  concurrentWorkflows: integer({
    default: 8,
    min: 1,
    max: 1_000,
    description: "Workflows that are landed at the same time.",
  }),
  concurrentWrites: integer({
    default: 32,
    min: 1,
    max: 1_000,
    description: "Pods that are landed at the same time; each takes two requests.",
  }),
  writesPerSecond: number({
    default: 1_000,
    min: 1,
    max: 10_000,
    description:
      "Requests per second for landing, beside kubernetes.qps: two per pod, so 500 pods/s, more than kube-scheduler binds.",
  }),
  proposalsIntervalMs: duration({
    default: 60_000,
    min: 0,
    max: 3_600_000,
    description:
      "How often it is worked out what would be best for workflows that run, for people to see: nobody is moved. At least 1000. 0: never.",
  }),
  proposalsPerRound: integer({
    default: 50,
    min: 1,
    max: 200,
    description: "Workflows for which that is done each time, those with the most traffic.",
  }),
  seed: integer({
    default: 1,
    min: 0,
    max: 2 ** 31,
    description: "Seed of the search: equal problems get equal plans.",
  }),
};

/** Settings of the planner of the scheduler-plugin. */
export const plannerSettings: Section<"planner", typeof table> = section("planner", table, {
  description: "Places the gated pods of a workflow all at once, and lands the plan through kube-scheduler.",
  rules: [
    ({ settleMs, maxSettleMs }) =>
      settleMs <= maxSettleMs
        ? null
        : `planner.settleMs must be at most planner.maxSettleMs, got ${settleMs} and ${maxSettleMs}`,
    ({ maxSettleMs, graphWaitMs, planMs, deadlineMs }) =>
      maxSettleMs + graphWaitMs + planMs < deadlineMs
        ? null
        : `planner.deadlineMs must be more than maxSettleMs + graphWaitMs + planMs, got ${deadlineMs} and ${maxSettleMs + graphWaitMs + planMs}`,
    ({ proposalsIntervalMs }) =>
      proposalsIntervalMs === 0 || proposalsIntervalMs >= 1_000
        ? null
        : `planner.proposalsIntervalMs must be 0 or at least 1000, got ${proposalsIntervalMs}`,
  ],
});

/** Values of {@link plannerSettings}. */
export type PlannerConfig = SettingsOf<typeof plannerSettings>;
