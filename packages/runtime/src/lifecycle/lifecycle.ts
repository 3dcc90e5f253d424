import { LifecycleError } from "../errors.ts";

/** States of a service, in the order in which they follow each other. */
export type LifecycleState = "starting" | "running" | "draining" | "stopped";

const NEXT: Readonly<Record<LifecycleState, readonly LifecycleState[]>> = {
  starting: ["running", "draining", "stopped"],
  running: ["draining", "stopped"],
  draining: ["stopped"],
  stopped: [],
};

/** Where a service is in its life. Only forward. */
export class Lifecycle {
  #state: LifecycleState = "starting";
  readonly #listeners = new Set<(state: LifecycleState) => void>();

  get state(): LifecycleState {
    return this.#state;
  }

  /**
   * Goes on to `next`; throws LifecycleError when it can't follow the current state. The same state again is
   * nothing.
   */
  to(next: LifecycleState): void {
    if (next === this.#state) return;
    if (!NEXT[this.#state].includes(next)) throw new LifecycleError(this.#state, next);
    this.#state = next;
    for (const listener of this.#listeners) listener(next);
  }

  /** Calls back at every change; gives the function that ends this. */
  onChange(listener: (state: LifecycleState) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
