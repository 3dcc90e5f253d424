import { MinHeap } from "@isochrone/primitives";

/** Wakes the queue at a point of the relay's clock; a later call with an earlier time replaces the former. */
export interface WakeTimer {
  wakeAt(timeMs: number): void;
}

/** Runs things when they are due: in order of time, and of adding where times are equal. */
export class DelayQueue {
  readonly #monotonic: () => number;
  readonly #timer: WakeTimer;
  readonly #heap = new MinHeap<() => void>();
  #draining = false;

  constructor(monotonic: () => number, timer: WakeTimer) {
    this.#monotonic = monotonic;
    this.#timer = timer;
  }

  get size(): number {
    return this.#heap.size;
  }

  add(dueMs: number, run: () => void): void {
    this.#heap.push(dueMs, run);
    this.drain();
  }

  /**
   * Runs what is due and asks to be woken for the rest. Does nothing when called by something that it runs.
   */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    try {
      while (this.#heap.size > 0 && this.#heap.nextKey <= this.#monotonic()) this.#heap.pop()?.();
    } finally {
      this.#draining = false;
      if (this.#heap.size > 0) this.#timer.wakeAt(this.#heap.nextKey);
    }
  }
}
