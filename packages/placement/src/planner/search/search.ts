import { seeded, type Draw } from "@isochrone/primitives";
import { quickEffort, type Budget } from "./budget.ts";
import { construct } from "./construct.ts";
import { coreNodes, isLarge, problemOn } from "./core-problem.ts";
import { descend } from "./descent.ts";
import { lowerBound } from "./lower-bound.ts";
import { searchNeighbourhoods } from "./neighbourhood.ts";
import { objectiveOf, restrictedModel } from "../objective/objective.ts";
import type { CostModel, Objective } from "../objective/objective.ts";
import { byAttachment, bySize, byTopology, podLinks, podSizes } from "./orders.ts";
import type { PodLinks } from "./orders.ts";
import { PlanState } from "./plan-state.ts";
import { drawIndex, shuffle } from "./draws.ts";
import { seedNodes } from "./seeds.ts";

/**
 * `optimal`: no plan costs less. `converged`: no improvement for a multiple of the effort of the best plan.
 * `deadline`: time is over. `effort`: the caller's effort is spent. `infeasible`: some pod fits nowhere.
 */
export type Ended = "optimal" | "converged" | "effort" | "deadline" | "infeasible";

export const ENDED_WORDS: Readonly<Record<Ended, string>> = {
  optimal: "No plan costs less.",
  converged: "The search ended because it had stopped finding better plans.",
  deadline: "The search ended at its deadline.",
  effort: "The search ended when its effort was spent.",
  infeasible: "No node has room for some pod.",
};

/** A found plan; fewer unplaced pods are better, then less cost. */
interface Found {
  readonly assignment: Int32Array;
  readonly unplaced: number;
  readonly total: number;
}

/** Relative distance from the lower bound that counts as optimal. */
const CLOSE = 1e-9;
/** Share of the effort for greedy starts. */
const STARTS = 0.4;
/** Effort of the first annealing round, per pod and pod-node pair. */
const ROUND = 20;
/** Cap on the first round: some 100 ms, or the quick effort if that is more. */
const LONGEST_FIRST_ROUND = 2_000_000;
/** Factor on the next round after one without improvement. */
const GROWTH = 1.5;
/** Minimum effort before convergence, per pod-node pair times the squared number of pods. */
const LEAST = 15;
const LEAST_EFFORT = 400_000;
const SHORTEST_FIRST_ROUND = 60_000;
/** Convergence: no improvement for this multiple of the best plan's effort. */
const SETTLED = 4;
/** Odds that a new start skips a pod's best node. */
const SCATTER_BLINK = 0.3;
/** Minimum relative gain that prolongs the search. */
const CLEAR_GAIN = 1e-6;
const TRIED_AT_RANDOM = 8;

export class PlanSearch {
  readonly hopeless: readonly number[];
  readonly lowerBound: number;
  readonly #model: CostModel;
  readonly #objective: Objective;
  readonly #budget: Budget;
  readonly #draw: Draw;
  readonly #links: PodLinks;
  readonly #sizes: Float64Array;
  readonly #state: PlanState;
  readonly #movable: readonly number[];
  readonly #given: readonly Int32Array[];
  readonly #starts: Int32Array[] = [];
  #best: Found | null = null;
  #greedy: Found | null = null;
  #tries = 0;

  /** @param given initial assignments in addition to greedy starts */
  constructor(model: CostModel, budget: Budget, seed: number, given: readonly Int32Array[] = []) {
    const { problem, traffic } = model;
    const pods = [...problem.pods.keys()];
    this.#model = model;
    this.#given = given;
    this.#budget = budget;
    this.#objective = objectiveOf(model);
    this.#draw = seeded(seed);
    this.#links = podLinks(traffic, pods.length);
    this.#sizes = podSizes(problem);
    this.#state = new PlanState(model);
    this.#movable = pods.filter((pod) => this.#hasRoom(pod));
    this.hopeless = pods.filter((pod) => !this.#movable.includes(pod));
    this.lowerBound = lowerBound(model);
    budget.watch(this.#state);
  }

  get best(): Int32Array | null {
    return this.#best?.assignment ?? null;
  }

  get greedyCost(): number | null {
    return this.#greedy?.unplaced === 0 ? this.#greedy.total : null;
  }

  get tries(): number {
    return this.#tries;
  }

  run(): Ended {
    this.#budget.limit(STARTS * Math.min(this.#budget.effort, quickEffort(this.#model.problem)));
    for (const assignment of this.#given) if (this.#isOpen(assignment)) this.#startWith(assignment);
    this.#startHere();
    const seeds = this.#startAll();
    this.#budget.limit(Infinity);
    this.#restore(this.#state, null);
    if (!this.#done()) {
      if (isLarge(this.#model.problem)) this.#searchCore(seeds);
      else this.#searchFrom(this.#state, seeds, null);
    }
    if (this.#isOptimal()) return "optimal";
    if (this.#budget.late) return "deadline";
    return this.#budget.isSpent ? "effort" : "converged";
  }

  /** With a move cost, starts at the current assignment, so that plans with few moves are found first. */
  #startHere(): void {
    const { problem, settings } = this.#model;
    if (settings.moveCost === 0 || problem.pods.some(({ current }) => current < 0)) return;
    this.#startWith(Int32Array.from(problem.pods, ({ current }) => current));
  }

  #isOpen(assignment: Int32Array): boolean {
    const state = this.#state;
    state.clear();
    return assignment.every((node, pod) => {
      const isOpen = state.isOpen(pod, node);
      state.place(pod, node);
      return isOpen;
    });
  }

  #startWith(assignment: Int32Array): void {
    const state = this.#state;
    state.clear();
    for (const [pod, node] of assignment.entries()) state.place(pod, node);
    if (state.holds()) {
      this.#keep(this.#found(state, null));
      descend(state, this.#budget);
      this.#keep(this.#found(state, null));
    }
    this.#starts.push(assignment, state.assignment.slice());
    state.clear();
  }

  /** Makes greedy starts in several orders. Returns nodes to gather pods around. */
  #startAll(): number[] {
    const { traffic, problem, field } = this.#model;
    const attached = byAttachment(traffic, this.#links, this.#sizes).filter(
      (pod) => !this.hopeless.includes(pod),
    );
    this.#start(attached, -1);
    if (this.#done() || attached.length === 0) return [];
    const seeds = field.known ? seedNodes(this.#state, attached, this.#draw) : [];
    for (const order of [byTopology(traffic, problem.pods.length), bySize(this.#sizes)]) {
      if (this.#done()) return seeds;
      this.#start(order, -1);
    }
    for (const seed of seeds) {
      if (this.#done()) return seeds;
      this.#start(attached, seed);
    }
    return seeds;
  }

  #start(order: readonly number[], seed: number): void {
    const state = this.#state;
    state.clear();
    const movable = order.filter((pod) => !this.hopeless.includes(pod));
    construct(state, movable, seed, { strict: false });
    const found = this.#found(state, null);
    if (found !== null && (this.#greedy === null || isBetter(found, this.#greedy))) this.#greedy = found;
    this.#keep(found);
    descend(state, this.#budget);
    this.#keep(this.#found(state, null));
    this.#starts.push(state.assignment.slice());
    state.clear();
  }

  /** Searches first on core nodes, then on all. */
  #searchCore(seeds: readonly number[]): void {
    const core = coreNodes(this.#state, [...this.#starts, Int32Array.from(seeds)], this.#draw);
    const model = restrictedModel(this.#model, problemOn(this.#model.problem, core));
    const state = new PlanState(model);
    this.#budget.watch(state);
    this.#restore(state, core);
    const found = seeds.map((node) => core.indexOf(node));
    this.#searchFrom(state, found, core);
    this.#restore(this.#state, null);
    descend(this.#state, this.#budget);
    this.#keep(this.#found(this.#state, null));
  }

  /** Alternates between the best plan and a new start. A round without improvement prolongs the next. */
  #searchFrom(state: PlanState, seeds: readonly number[], core: Int32Array | null): void {
    const budget = this.#budget;
    const unit = this.#movable.length ** 2 * state.problem.nodes.length;
    const beganAt = budget.spent;
    const least = Math.max(LEAST_EFFORT - beganAt, LEAST * this.#movable.length * unit);
    const nodes = this.#triedNodes(state, seeds);
    const longest = Math.max(LONGEST_FIRST_ROUND, quickEffort(state.problem));
    let length = Math.min(longest, Math.max(SHORTEST_FIRST_ROUND, ROUND * unit));
    let improvedAt = beganAt;
    const isOpen = (): boolean => budget.spent - beganAt < Math.max(least, SETTLED * (improvedAt - beganAt));
    for (let round = 1; !this.#done() && isOpen(); round++) {
      const before = this.#best;
      const from = budget.spent;
      const { rest } = budget;
      const span = { from, to: from + (rest < 1.5 * length ? rest : length) };
      budget.limit(span.to);
      this.#anneal(state, nodes, core, span);
      budget.limit(Infinity);
      if (budget.spent === from) return;
      if (isClearlyBetter(this.#best, before)) improvedAt = budget.spent;
      else length *= GROWTH;
      this.#restore(state, core);
      if (round % 2 === 1 && this.#best !== null) this.#scatter(state, this.#best.unplaced);
    }
  }

  #anneal(
    state: PlanState,
    nodes: readonly number[],
    core: Int32Array | null,
    span: { readonly from: number; readonly to: number },
  ): void {
    const keep = (): void => this.#keep(this.#found(state, core));
    this.#tries += searchNeighbourhoods(state, {
      budget: this.#budget,
      span,
      draw: this.#draw,
      links: this.#links,
      sizes: this.#sizes,
      movable: this.#movable,
      nodes,
      better: () => {
        keep();
        descend(state, this.#budget);
        keep();
      },
      done: () => this.#isOptimal(),
    });
  }

  /** Places all pods anew around a random node. Restores the state if a rule breaks. */
  #scatter(state: PlanState, mostUnplaced: number): void {
    const pods = this.#movable.filter((pod) => state.assignment[pod]! >= 0);
    const { cost } = state;
    const before = pods.map((pod) => state.unplace(pod));
    const order = pods.slice();
    shuffle(order, this.#draw);
    const seed = drawIndex(this.#draw, state.problem.nodes.length);
    construct(state, order, seed, { strict: false, blink: () => this.#draw() < SCATTER_BLINK });
    if (state.unplaced > mostUnplaced || !state.holds()) state.revert(pods, before, cost);
  }

  #found(state: PlanState, core: Int32Array | null): Found | null {
    if (!state.holds()) return null;
    const assignment =
      core === null
        ? state.assignment.slice()
        : state.assignment.map((node) => (node < 0 ? -1 : core[node]!));
    return { assignment, unplaced: state.unplaced, total: this.#objective.total(assignment).total };
  }

  #keep(found: Found | null): void {
    if (found !== null && (this.#best === null || isBetter(found, this.#best))) this.#best = found;
  }

  #done(): boolean {
    return this.#budget.exhausted() || this.#isOptimal();
  }

  #isOptimal(): boolean {
    return this.#best?.unplaced === 0 && this.#best.total <= this.lowerBound * (1 + CLOSE);
  }

  /** @param core the state's nodes; null: all */
  #restore(state: PlanState, core: Int32Array | null): void {
    const position = core === null ? null : new Map([...core].map((node, at) => [node, at]));
    state.clear();
    for (const [pod, node] of this.#best?.assignment.entries() ?? [])
      if (node >= 0) state.place(pod, position === null ? node : position.get(node)!);
  }

  #triedNodes(state: PlanState, seeds: readonly number[]): number[] {
    const count = state.problem.nodes.length;
    const nodes = new Set([...seeds, ...state.assignment].filter((node) => node >= 0));
    const more = count === 0 ? 0 : TRIED_AT_RANDOM;
    for (let extra = 0; extra < more; extra++) nodes.add(drawIndex(this.#draw, count));
    return [...nodes];
  }

  /** Whether a node is open to the pod. Ignores rules, which other pods may satisfy later. */
  #hasRoom(pod: number): boolean {
    for (let node = 0; node < this.#model.field.nodeCount; node++)
      if (this.#state.isOpen(pod, node)) return true;
    return false;
  }
}

function isBetter(a: Found, b: Found): boolean {
  return a.unplaced < b.unplaced || (a.unplaced === b.unplaced && a.total < b.total);
}

function isClearlyBetter(now: Found | null, before: Found | null): boolean {
  if (now === null || before === null) return now !== before;
  return now.unplaced < before.unplaced || now.total < before.total * (1 - CLEAR_GAIN);
}
