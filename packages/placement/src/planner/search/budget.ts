import type { PlanState } from "./plan-state.ts";

/**
 * Pods weighed up against nodes, as a default: it takes some 10 ms, more where there are more pairs of them.
 */
const LEAST_EFFORT = 400_000;
/** Each pod is weighed up against each node this often. */
const ROUNDS = 20;
/** What looking at the clock, and a change without much weighing, counts as. */
const STEP = 60;

interface BudgetOptions {
  readonly now: () => number;
  /** By the clock of `now`. */
  readonly deadlineMs: number;
  readonly effort: number;
}

export function defaultEffort(podCount: number, nodeCount: number): number {
  return Math.max(LEAST_EFFORT, ROUNDS * podCount * nodeCount);
}

/** Ends a search after so much work, which is the same on every machine, or at its deadline, which isn't. */
export class Budget {
  readonly #options: BudgetOptions;
  readonly #states: PlanState[] = [];
  #steps = 0;
  #late = false;
  #ceiling = 1;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  get late(): boolean {
    return this.#late;
  }

  /** Work on that state counts. */
  watch(state: PlanState): void {
    this.#states.push(state);
  }

  /** Counts as exhausted when that part of the effort is spent. */
  limit(ceiling: number): void {
    this.#ceiling = ceiling;
  }

  step(): void {
    this.#steps++;
  }

  /** 0 at the start, 1 when the effort is spent. */
  spent(): number {
    let weighed = this.#steps * STEP;
    for (const state of this.#states) weighed += state.weighed;
    return Math.min(1, weighed / this.#options.effort);
  }

  exhausted(): boolean {
    if (!this.#late && this.#options.now() >= this.#options.deadlineMs) this.#late = true;
    return this.#late || this.spent() >= this.#ceiling;
  }
}
