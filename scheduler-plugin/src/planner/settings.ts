import {
  constant,
  duration,
  flag,
  integer,
  oneOf,
  ratio,
  section,
  type Section,
  type SettingsOf,
} from "@isochrone/runtime";

/** How a plan reaches kube-scheduler. */
const LANDINGS = ["nomination", "preferred-affinity"] as const;
export type Landing = (typeof LANDINGS)[number];

/** When the pods of a plan are let go. */
const RELEASES = ["together", "ordered"] as const;
export type Release = (typeof RELEASES)[number];

const table = {
  enabled: flag({
    default: false,
    description:
      "Plan the pods that carry the gate isochrone.dev/placement. Needs a cluster; of several replicas one plans.",
  }),
  settleMs: constant(300, "Pods of one deployment come within this time."),
  maxSettleMs: constant(2_000, "Waiting longer delays the first pods and plans no better."),
  graphWaitMs: constant(5_000, "A graph that takes longer doesn't come."),
  planMs: constant(1_000, "Plans of 200 pods hardly improve after a second."),
  exact: constant(true, "It is used where it is fast enough, and then it is better."),
  deadlineMs: constant(30_000, "It is half of the default of gates.deadlineMs."),
  maxPods: constant(200, "Of larger workflows the rest is planned around those placed."),
  hostnameMaxSkew: constant(3, "It is the default of kube-scheduler."),
  zoneMaxSkew: constant(5, "It is the default of kube-scheduler."),
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
  bindTimeoutMs: constant(30_000, "kube-scheduler has decided by then."),
  concurrentWorkflows: constant(8, "More at a time land no faster: kube-scheduler is the limit."),
  concurrentWrites: constant(32, "More at a time land no faster: kube-scheduler is the limit."),
  writesPerSecond: constant(1_000, "It is more than kube-scheduler binds."),
  proposalsIntervalMs: duration({
    default: 60_000,
    min: 0,
    max: 3_600_000,
    description:
      "How often it is worked out what would be best for workflows that run, for people to see: nobody is moved. At least 1000. 0: never.",
  }),
  proposalsPerRound: constant(50, "The others follow in the next round."),
  seed: constant(1, "Any seed is as good; equal problems get equal plans."),
};

/** Settings of the planner of the scheduler-plugin. */
export const plannerSettings: Section<"planner", typeof table> = section("planner", table, {
  description: "Places the gated pods of a workflow all at once, and lands the plan through kube-scheduler.",
  rules: [
    ({ proposalsIntervalMs }) =>
      proposalsIntervalMs === 0 || proposalsIntervalMs >= 1_000
        ? null
        : `planner.proposalsIntervalMs must be 0 or at least 1000, got ${proposalsIntervalMs}`,
  ],
});

/** Values of {@link plannerSettings}. */
export type PlannerConfig = SettingsOf<typeof plannerSettings>;
