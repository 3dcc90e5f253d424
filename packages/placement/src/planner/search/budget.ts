import type { PlanProblem } from "../objective/plan-problem.ts";
import type { PlanState } from "./plan-state.ts";

/** The least quick effort, in pairs of a pod and a node: some 20 ms. */
const LEAST_QUICK_EFFORT = 400_000;
/** In larger problems each pod is weighed against each node this often. */
const ROUNDS = 20;
/** Effort of looking at the clock, and of a change that weighs little. */
const STEP = 60;

interface BudgetOptions {
  readonly now: () => number;
  /** By the clock of `now`. */
  readonly deadlineMs: number;
  /** In pairs of a pod and a node; Infinity: the deadline alone ends the search. */
  readonly effort: number;
}

/**
 * An effort for searches that must be quick or deterministic: tens of milliseconds, more for large problems.
 */
export function quickEffort({ pods, nodes }: PlanProblem): number {
  return Math.max(LEAST_QUICK_EFFORT, ROUNDS * pods.length * nodes.length);
}

/** Ends a search after so much work, which is the same on every machine, or at its deadline, which isn't. */
export class Budget {
  readonly #options: BudgetOptions;
  readonly #states: PlanState[] = [];
  #stepped = 0;
  #late = false;
  #ceiling: number;
  readonly #beganMs: number;

  constructor(options: BudgetOptions) {
    this.#options = options;
    this.#ceiling = options.effort;
    this.#beganMs = options.now();
  }

  /** All of it, in pairs of a pod and a node. */
  get effort(): number {
    return this.#options.effort;
  }

  /** Effort that is left, and at the pace so far can be spent before the deadline. */
  get rest(): number {
    const nowMs = this.#options.now();
    const elapsedMs = nowMs - this.#beganMs;
    const inTime = elapsedMs > 0 ? (this.spent / elapsedMs) * (this.#options.deadlineMs - nowMs) : Infinity;
    return Math.max(0, Math.min(this.#options.effort - this.spent, inTime));
  }

  get late(): boolean {
    return this.#late;
  }

  /** Work on that state counts. */
  watch(state: PlanState): void {
    this.#states.push(state);
  }

  /** Counts as exhausted when so much effort is spent, or all of it. */
  limit(effort: number): void {
    this.#ceiling = Math.min(this.#options.effort, effort);
  }

  step(): void {
    this.#stepped += STEP;
  }

  get spent(): number {
    let weighed = this.#stepped;
    for (const state of this.#states) weighed += state.weighed;
    return weighed;
  }

  /** Whether all of the effort is spent. */
  get isSpent(): boolean {
    return this.spent >= this.#options.effort;
  }

  exhausted(): boolean {
    if (!this.#late && this.#options.now() >= this.#options.deadlineMs) this.#late = true;
    return this.#late || this.spent >= this.#ceiling;
  }
}
