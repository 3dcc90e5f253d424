import { MinHeap } from "@isochrone/primitives";

export interface Appointment {
  cancel(): void;
}

interface Entry {
  run: (() => void) | null;
}

interface TimetableDeps {
  monotonic(): number;
  /** Returns a function that clears the timer. Without it, the owner reads `dueMs` and calls `runDue`. */
  readonly setTimer?: (run: () => void, delayMs: number) => () => void;
  onError(error: unknown): void;
}

/** All timed tasks of a thread. Tasks due together run in creation order. */
export class Timetable {
  readonly #deps: TimetableDeps;
  readonly #heap = new MinHeap<Entry>();
  #clear: (() => void) | null = null;
  #armedForMs = Number.POSITIVE_INFINITY;

  constructor(deps: TimetableDeps) {
    this.#deps = deps;
  }

  at(atMs: number, run: () => void): Appointment {
    const entry: Entry = { run };
    this.#heap.push(atMs, entry);
    this.#arm();
    return {
      cancel: () => {
        // The entry stays in the heap until due: removal from the middle costs more.
        entry.run = null;
      },
    };
  }

  get dueMs(): number {
    return this.#heap.nextKey;
  }

  runDue(): void {
    while (this.#heap.size > 0 && this.#heap.nextKey <= this.#deps.monotonic()) {
      const first = this.#heap.pop();
      try {
        first?.run?.();
      } catch (error) {
        this.#deps.onError(error);
      }
    }
  }

  close(): void {
    this.#heap.clear();
    this.#clear?.();
    this.#clear = null;
    this.#armedForMs = Number.POSITIVE_INFINITY;
  }

  #arm(): void {
    const dueMs = this.#heap.nextKey;
    if (this.#deps.setTimer === undefined || this.#heap.size === 0 || dueMs >= this.#armedForMs) return;
    this.#clear?.();
    this.#armedForMs = dueMs;
    // Timers have millisecond resolution and may fire early: #run checks the clock again.
    this.#clear = this.#deps.setTimer(
      () => this.#run(),
      Math.max(0, Math.ceil(dueMs - this.#deps.monotonic())),
    );
  }

  #run(): void {
    this.#clear = null;
    this.#armedForMs = Number.POSITIVE_INFINITY;
    this.runDue();
    this.#arm();
  }
}
