import { LifecycleError } from "../errors.ts";

export type LifecycleState = "starting" | "running" | "draining" | "stopped";

const NEXT: Readonly<Record<LifecycleState, readonly LifecycleState[]>> = {
  starting: ["running", "draining", "stopped"],
  running: ["draining", "stopped"],
  draining: ["stopped"],
  stopped: [],
};

export class Lifecycle {
  #state: LifecycleState = "starting";
  readonly #listeners = new Set<(state: LifecycleState) => void>();

  get state(): LifecycleState {
    return this.#state;
  }

  /** Throws LifecycleError if `next` can't follow the current state. No-op for the same state. */
  to(next: LifecycleState): void {
    if (next === this.#state) return;
    if (!NEXT[this.#state].includes(next)) throw new LifecycleError(this.#state, next);
    this.#state = next;
    for (const listener of this.#listeners) listener(next);
  }

  onChange(listener: (state: LifecycleState) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
