import { MinHeap } from "@isochrone/primitives";

export interface WakeTimer {
  wakeAt(timeMs: number): void;
}

/** Runs callbacks when due, in order of time, then of insertion. */
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

  /** Runs due callbacks and sets the next wake-up. Not reentrant. */
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
