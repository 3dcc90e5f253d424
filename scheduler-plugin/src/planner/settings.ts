import {
  constant,
  flag,
  integer,
  oneOf,
  ratio,
  section,
  type Section,
  type SettingsOf,
} from "@isochrone/runtime";

/** How a plan reaches kube-scheduler. */
const LANDINGS = ["required-affinity", "nomination", "preferred-affinity"] as const;
export type Landing = (typeof LANDINGS)[number];

/** Objective of a plan. */
const OBJECTIVES = ["latency", "money", "weighted"] as const;

/** When the pods of a plan are let go. */
const RELEASES = ["together", "ordered"] as const;
export type Release = (typeof RELEASES)[number];

const table = {
  enabled: flag({
    default: false,
    description:
      "Plan the pods that carry the gate isochrone.dev/placement. Needs a cluster; of several replicas one plans.",
  }),
  settleMs: constant(
    300,
    "It is how long to wait for more pods of a workflow; no documented case changes this default.",
  ),
  maxSettleMs: constant(2_000, "It bounds how long the first pods wait."),
  graphWaitMs: constant(5_000, "It bounds how long pods wait for a graph."),
  planMs: constant(1_000, "It bounds how long a plan is improved."),
  exact: constant(true, "It finds the best plan where the problem is small enough."),
  deadlineMs: constant(30_000, "It is half of the default of gates.deadlineMs."),
  maxPods: constant(200, "It bounds one plan; the rest of larger workflows is planned around those placed."),
  hostnameMaxSkew: constant(3, "It is maxSkew in kube-scheduler's default constraints."),
  zoneMaxSkew: constant(5, "It is maxSkew in kube-scheduler's default constraints."),
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
  objective: oneOf(OBJECTIVES, {
    default: "latency",
    description:
      "What plans, proposals and the descheduler's moves save. latency: bytes/s x round trips. money: what bytes cost by the aggregator's prices; latency decides between what costs the same. weighted: both, a typical price like a median round trip. Where prices can't decide, latency does, and plans say why.",
  }),
  maxLatencyLoss: ratio({
    default: 0.1,
    min: 0,
    max: 10,
    description:
      "Where the objective isn't latency: by which share a plan's network latency may be above that of the plan by latency alone, or above today's where that is more. A plan never goes beyond it.",
  }),
  landing: oneOf(LANDINGS, {
    default: "required-affinity",
    description:
      "How kube-scheduler is told. required-affinity: the request that opens the gate binds the pod to the planned node and two others that would take it, with a preference for the planned one; pods without a controller, and pods for which fewer nodes have room, are nominated. nomination: status.nominatedNodeName, which kube-scheduler tries first. preferred-affinity: a preference alone; sampling leaves the preferred node out of large clusters.",
  }),
  release: oneOf(RELEASES, {
    default: "together",
    description:
      "Whether all pods of a plan are released together, or a workload only when those before it in the topological order are bound or have failed. The annotation isochrone.dev/release of an AppGroup counts more.",
  }),
  bindTimeoutMs: constant(30_000, "It bounds how long a plan waits for kube-scheduler."),
  concurrentWrites: constant(32, "It bounds the requests to the API server at a time."),
  writesPerSecond: constant(1_000, "It bounds the load of the API server."),
  proposalsIntervalMs: constant(60_000, "People read proposals; a search takes a tenth of it at most."),
  seed: constant(1, "Any seed is as good; equal problems get equal plans."),
};

/** Settings of the planner of the scheduler-plugin. */
export const plannerSettings: Section<"planner", typeof table> = section("planner", table, {
  description: "Places the gated pods of a workflow all at once, and lands the plan through kube-scheduler.",
  retired: ["concurrentWorkflows", "landingNodes", "proposalsPerRound"],
});

/** Values of {@link plannerSettings}. */
export type PlannerConfig = SettingsOf<typeof plannerSettings>;
