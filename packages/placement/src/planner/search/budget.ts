import type { PlanProblem } from "../objective/plan-problem.ts";
import type { PlanState } from "./plan-state.ts";

/** Minimum quick effort in pod-node pairs, some 20 ms. */
const LEAST_QUICK_EFFORT = 400_000;
const ROUNDS = 20;
/** Effort of checking the clock, and of a cheap change. */
const STEP = 60;

interface BudgetOptions {
  readonly now: () => number;
  readonly deadlineMs: number;
  /** Pod-node pairs. Infinity: only the deadline ends the search. */
  readonly effort: number;
}

/** Effort for quick or deterministic searches: tens of milliseconds, more for large problems. */
export function quickEffort({ pods, nodes }: PlanProblem): number {
  return Math.max(LEAST_QUICK_EFFORT, ROUNDS * pods.length * nodes.length);
}

/** Ends a search after a fixed amount of work, which is reproducible, or at a deadline, which is not. */
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

  get effort(): number {
    return this.#options.effort;
  }

  /** Remaining effort that fits before the deadline at the current pace. */
  get rest(): number {
    const nowMs = this.#options.now();
    const elapsedMs = nowMs - this.#beganMs;
    const inTime = elapsedMs > 0 ? (this.spent / elapsedMs) * (this.#options.deadlineMs - nowMs) : Infinity;
    return Math.max(0, Math.min(this.#options.effort - this.spent, inTime));
  }

  get late(): boolean {
    return this.#late;
  }

  watch(state: PlanState): void {
    this.#states.push(state);
  }

  /** Sets a temporary, lower limit. Infinity restores the original one. */
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

  get isSpent(): boolean {
    return this.spent >= this.#options.effort;
  }

  exhausted(): boolean {
    if (!this.#late && this.#options.now() >= this.#options.deadlineMs) this.#late = true;
    return this.#late || this.spent >= this.#ceiling;
  }
}
