// Places pods together: greedy starts, local search, large neighbourhoods; until the effort is spent or the
// deadline has come.
import { Budget } from "./budget.ts";
import { problemOn } from "./core-problem.ts";
import { boundedModel, costModel, objectiveOf } from "../objective/objective.ts";
import type { MoneyFallback } from "../objective/money.ts";
import type { CostModel, PlanCost } from "../objective/objective.ts";
import type { PlanProblem } from "../objective/plan-problem.ts";
import { planSettings } from "../objective/plan-settings.ts";
import type { PlanSettings } from "../objective/plan-settings.ts";
import { PlanState } from "./plan-state.ts";
import { unplacedReason } from "./reasons.ts";
import type { UnplacedPod } from "./reasons.ts";
import { PlanSearch } from "./search.ts";
import type { Ended } from "./search.ts";

export interface PlanOptions extends Partial<PlanSettings> {
  /** Equal seeds give equal plans, unless the deadline comes first. */
  readonly seed: number;
  /** Milliseconds by a clock that never goes back. */
  readonly now: () => number;
  /** When the search ends, by the clock of `now`. A first plan is made even when that is past. */
  readonly deadlineMs: number;
  /** How many pairs of a pod and a node are weighed at most. @default as many as it takes to converge */
  readonly effort?: number;
  /** How many other nodes are named for the pod of a plan for one. @default none */
  readonly others?: number;
  /** Also plan when some pods find no node; otherwise such a plan places none. */
  readonly partial?: boolean;
  /** Node index by pod, all with a node: a plan to begin with. Ignored if some pod can't go to its node. */
  readonly start?: Int32Array;
}

/** Another node for one pod, all others as planned. */
export interface OtherNode {
  /** Its index in the problem. */
  readonly node: number;
  /** What the plan's cost would grow by, bytes/s x ms. */
  readonly delta: number;
}

export interface Plan {
  /** Node index by pod, -1 = without a node. */
  readonly assignment: Int32Array;
  /** True when every pod has a node. */
  readonly complete: boolean;
  /**
   * Pods for which there was no room, with the reason; when the plan isn't partial, the others have no node
   * either.
   */
  readonly unplaced: readonly UnplacedPod[];
  /** Of the assignment: pods without a node count for nothing. */
  readonly cost: PlanCost;
  /** What the best complete greedy start costs; null without one. */
  readonly greedyCost: number | null;
  /** Of a plan for one pod: other nodes that would take it, cheapest first; null for plans for several. */
  readonly others: readonly OtherNode[] | null;
  /** No complete plan costs less. Weak where little is tied to a node. */
  readonly lowerBound: number;
  /** How often pods were taken out and put back. */
  readonly tries: number;
  readonly ended: Ended;
  /** What the rates of the channels are: `declared` means that none is known and priorities stood in. */
  readonly traffic: "measured" | "declared" | "none";
  /** False when no network cost is known: the plan then follows the load alone. */
  readonly networkKnown: boolean;
  /** Where money has a share: the bound on the network's latency, bytes/s x ms; null: latency decided. */
  readonly latencyLimit: number | null;
  /** Why latency decided although money was asked for; null: as asked. */
  readonly fallback: MoneyFallback | null;
}

/** The order of nodes makes no difference. Throws PlacementError `invalid_setting`. */
export function plan(problem: PlanProblem, options: PlanOptions): Plan {
  // As API servers list them.
  if (isByName(problem)) return planInOrder(problem, options);
  const order = byName(problem);
  const start = options.start?.map((node) => order.indexOf(node));
  const limits = start === undefined ? options : { ...options, start };
  const { assignment, others, ...found } = planInOrder(problemOn(problem, order), limits);
  return {
    assignment: assignment.map((node) => (node < 0 ? -1 : order[node]!)),
    others: others?.map(({ node, delta }) => ({ node: order[node]!, delta })) ?? null,
    ...found,
  };
}

const ORDERED = new WeakMap<readonly string[], boolean>();

function isByName({ nodes, nodeNames = nodes.map(({ name }) => name) }: PlanProblem): boolean {
  let isOrdered = ORDERED.get(nodeNames);
  if (isOrdered === undefined) {
    isOrdered = nodeNames.every((name, node) => node === 0 || name >= nodeNames[node - 1]!);
    ORDERED.set(nodeNames, isOrdered);
  }
  return isOrdered;
}

/** Node indices by the nodes' names. */
function byName({ nodes }: PlanProblem): Int32Array {
  return Int32Array.from(nodes.keys()).sort((a, b) => (nodes[a]!.name < nodes[b]!.name ? -1 : 1));
}

function planInOrder(problem: PlanProblem, options: PlanOptions): Plan {
  const settings = planSettings(options);
  const model = costModel(problem, settings);
  const given = options.start === undefined ? [] : [options.start];
  if (model.latency === null) return searched(model, options, given);
  const { now, deadlineMs } = options;
  const half = { ...options, effort: (options.effort ?? Infinity) / 2 };
  // Half of the time and of the effort for the plan that the bound is taken from, and that is a start.
  const beganMs = now();
  const byLatency = searched(
    costModel(problem, { ...settings, moneyShare: 0 }),
    { ...half, deadlineMs: beganMs + (deadlineMs - beganMs) / 2 },
    given,
  );
  if (!byLatency.complete) return { ...byLatency, fallback: "no_room" };
  const current = Int32Array.from(problem.pods, (pod) => pod.current);
  const starts = current.includes(-1) ? [byLatency.assignment] : [current, byLatency.assignment];
  // That plan is within the bound: so there is a complete one.
  const bounded = boundedModel(model, byLatency.assignment, settings.maxLatencyLoss);
  return searched(bounded, half, [...starts, ...given]);
}

function searched(model: CostModel, options: PlanOptions, starts: readonly Int32Array[]): Plan {
  const { problem } = model;
  const { pods } = problem;
  if (pods.length === 1 && model.settings.moveCost === 0) return alone(model, options);
  const { now, deadlineMs, effort = Infinity } = options;
  const budget = new Budget({ now, deadlineMs, effort });
  const search = new PlanSearch(model, budget, options.seed, starts);
  const partial = options.partial === true;
  const ended = search.hopeless.length > 0 && !partial ? "infeasible" : search.run();
  const found = search.best ?? new Int32Array(pods.length).fill(-1);
  const complete = !found.includes(-1);
  const assignment = complete || partial ? found : new Int32Array(pods.length).fill(-1);
  return {
    assignment,
    complete,
    unplaced: complete
      ? []
      : unplacedOf(new PlanState(model), found, ended === "infeasible" ? search.hopeless : null),
    cost: objectiveOf(model).total(assignment),
    greedyCost: search.greedyCost,
    others: null,
    lowerBound: search.lowerBound,
    tries: search.tries,
    ended,
    ...knownOf(model),
  };
}

function knownOf({
  traffic,
  field,
  latency,
  latencyLimit,
  fallback,
}: CostModel): Pick<Plan, "fallback" | "latencyLimit" | "networkKnown" | "traffic"> {
  return {
    traffic: traffic.source,
    networkKnown: field.known,
    latencyLimit: latency === null ? null : latencyLimit,
    fallback,
  };
}

/** One pod beside others that stay where they are: one pass over the nodes finds the best, and proves it. */
function alone(model: CostModel, { others: count = 0 }: PlanOptions): Plan {
  const state = new PlanState(model, model.capacity);
  const [best, ...others] = state.bestSpots(0, count + 1);
  const assignment = Int32Array.of(best?.node ?? -1);
  const cost = objectiveOf(model).total(assignment);
  return {
    assignment,
    complete: best !== undefined,
    unplaced: best === undefined ? [{ pod: 0, reason: unplacedReason(state, 0) }] : [],
    cost,
    greedyCost: best === undefined ? null : cost.total,
    others: others.map(({ node, cost: of }) => ({ node, delta: of - best!.cost })),
    lowerBound: cost.total,
    tries: 0,
    ended: best === undefined ? "infeasible" : "optimal",
    ...knownOf(model),
  };
}

/** Pods that the plan has no node for, or only those in `of`. */
function unplacedOf(state: PlanState, found: Int32Array, of: readonly number[] | null): UnplacedPod[] {
  for (const [pod, node] of found.entries()) if (node >= 0) state.place(pod, node);
  const pods = of ?? [...found.keys()].filter((pod) => found[pod]! < 0);
  return pods.map((pod) => ({ pod, reason: unplacedReason(state, pod) }));
}
