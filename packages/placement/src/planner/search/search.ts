import { seeded, type Draw } from "@isochrone/primitives";
import type { Budget } from "./budget.ts";
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
import { drawIndex } from "./draws.ts";
import { seedNodes } from "./seeds.ts";

export type Ended = "optimal" | "effort" | "deadline" | "infeasible";

/** Fewer unplaced pods are better, then less cost. */
interface Found {
  readonly assignment: Int32Array;
  readonly unplaced: number;
  readonly total: number;
}

/** A cost this close to the lower bound can't be improved. */
const CLOSE = 1e-9;
/** The part of the effort that is for greedy starts. */
const STARTS = 0.4;
/** Nodes at random that groups of pods are tried at. */
const TRIED_AT_RANDOM = 8;

/** One search for one plan. */
export class PlanSearch {
  /** Pods that no node has room for, even alone. */
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

  /** @param given assignments to begin with, beside the greedy starts */
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
    this.#budget.limit(STARTS);
    for (const assignment of this.#given) if (this.#isOpen(assignment)) this.#startWith(assignment);
    this.#startHere();
    const seeds = this.#startAll();
    this.#budget.limit(1);
    this.#restore();
    if (!this.#done()) {
      if (isLarge(this.#model.problem)) this.#searchCore(seeds);
      else this.#searchFrom(this.#state, seeds, null);
    }
    return this.#isOptimal() ? "optimal" : this.#budget.late ? "deadline" : "effort";
  }

  /** Where moves cost something, plans begin with the pods where they are: few moves are found first. */
  #startHere(): void {
    const { problem, settings } = this.#model;
    if (settings.moveCost === 0 || problem.pods.some(({ current }) => current < 0)) return;
    this.#startWith(Int32Array.from(problem.pods, ({ current }) => current));
  }

  /** Whether every pod would be let in, rules aside. */
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

  /**
   * Greedy starts in several orders, each improved on the spot. Returns nodes that pods may well gather
   * around.
   */
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

  /** The long search of a large cluster: among the nodes that matter, then once more among all. */
  #searchCore(seeds: readonly number[]): void {
    const core = coreNodes(this.#state, [...this.#starts, Int32Array.from(seeds)], this.#draw);
    const model = restrictedModel(this.#model, problemOn(this.#model.problem, core));
    const state = new PlanState(model);
    this.#budget.watch(state);
    const position = new Map([...core].map((node, at) => [node, at]));
    for (const [pod, node] of this.#state.assignment.entries())
      if (node >= 0) state.place(pod, position.get(node)!);
    this.#searchFrom(
      state,
      seeds.map((node) => position.get(node)!),
      core,
    );
    this.#restore();
    descend(this.#state, this.#budget);
    this.#keep(this.#found(this.#state, null));
  }

  #searchFrom(state: PlanState, seeds: readonly number[], core: Int32Array | null): void {
    this.#tries += searchNeighbourhoods(state, {
      budget: this.#budget,
      draw: this.#draw,
      links: this.#links,
      sizes: this.#sizes,
      movable: this.#movable,
      nodes: this.#triedNodes(state, seeds),
      better: () => {
        this.#keep(this.#found(state, core));
        // A new best is brought to where no single move or swap improves it.
        descend(state, this.#budget);
        this.#keep(this.#found(state, core));
      },
      done: () => this.#isOptimal(),
    });
  }

  /** null when a rule is broken. `core`: which nodes the state's are. */
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

  #restore(): void {
    this.#state.clear();
    for (const [pod, node] of this.#best?.assignment.entries() ?? [])
      if (node >= 0) this.#state.place(pod, node);
  }

  /** Where a group may be started: nodes in use, promising ones, and a few at random. */
  #triedNodes(state: PlanState, seeds: readonly number[]): number[] {
    const count = state.problem.nodes.length;
    const nodes = new Set([...seeds, ...state.assignment].filter((node) => node >= 0));
    const more = count === 0 ? 0 : TRIED_AT_RANDOM;
    for (let extra = 0; extra < more; extra++) nodes.add(drawIndex(this.#draw, count));
    return [...nodes];
  }

  /** Rules aside, which others may come to satisfy. */
  #hasRoom(pod: number): boolean {
    for (let node = 0; node < this.#model.field.nodeCount; node++)
      if (this.#state.isOpen(pod, node)) return true;
    return false;
  }
}

function isBetter(a: Found, b: Found): boolean {
  return a.unplaced < b.unplaced || (a.unplaced === b.unplaced && a.total < b.total);
}
