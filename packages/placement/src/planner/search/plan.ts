// Places pods together by greedy starts, local search and large neighbourhood search.
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
  /** Equal seeds give equal plans unless the deadline ends the search. */
  readonly seed: number;
  readonly now: () => number;
  /** Deadline by `now`. A first plan is made even after it. */
  readonly deadlineMs: number;
  /** Maximum evaluated pod-node pairs. @default until convergence */
  readonly effort?: number;
  /** Number of alternatives reported for a single pod. @default none */
  readonly others?: number;
  /** Plan even if some pods find no node; otherwise such a plan is empty. */
  readonly partial?: boolean;
  /** A complete initial plan: node index by pod. Ignored if infeasible. */
  readonly start?: Int32Array;
}

export interface OtherNode {
  readonly node: number;
  /** Cost increase, bytes/s x ms. */
  readonly delta: number;
}

export interface Plan {
  /** Node by pod; -1: none. */
  readonly assignment: Int32Array;
  readonly complete: boolean;
  /** In a non-partial plan, the others have no node either. */
  readonly unplaced: readonly UnplacedPod[];
  readonly cost: PlanCost;
  readonly greedyCost: number | null;
  /** Alternatives for a single pod, cheapest first. Null: several pods. */
  readonly others: readonly OtherNode[] | null;
  /** Lower bound on the cost. Weak if few pods are fixed. */
  readonly lowerBound: number;
  readonly tries: number;
  readonly ended: Ended;
  /** `declared`: no rate is known, priorities replace rates. */
  readonly traffic: "measured" | "declared" | "none";
  /** False if no network cost is known: only load decides. */
  readonly networkKnown: boolean;
  /** Latency bound of a money plan, bytes/s x ms. Null: latency decided. */
  readonly latencyLimit: number | null;
  /** Why latency decided despite a money share. Null: as requested. */
  readonly fallback: MoneyFallback | null;
}

/**
 * Finds a placement with low cost. Doesn't depend on the order of nodes. Throws PlacementError
 * `invalid_setting`.
 */
export function plan(problem: PlanProblem, options: PlanOptions): Plan {
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
  // Half of the budget goes to the plan by latency, which gives the bound and a start.
  const beganMs = now();
  const byLatency = searched(
    costModel(problem, { ...settings, moneyShare: 0 }),
    { ...half, deadlineMs: beganMs + (deadlineMs - beganMs) / 2 },
    given,
  );
  if (!byLatency.complete) return { ...byLatency, fallback: "no_room" };
  const current = Int32Array.from(problem.pods, (pod) => pod.current);
  const starts = current.includes(-1) ? [byLatency.assignment] : [current, byLatency.assignment];
  // The plan by latency meets the bound, so a complete plan exists.
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

/** A single pod: one pass over the nodes is optimal. */
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

function unplacedOf(state: PlanState, found: Int32Array, of: readonly number[] | null): UnplacedPod[] {
  for (const [pod, node] of found.entries()) if (node >= 0) state.place(pod, node);
  const pods = of ?? [...found.keys()].filter((pod) => found[pod]! < 0);
  return pods.map((pod) => ({ pod, reason: unplacedReason(state, pod) }));
}
