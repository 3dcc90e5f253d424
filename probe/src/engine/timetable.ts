import { MinHeap } from "@isochrone/primitives";

/** A task that can be called off. */
export interface Appointment {
  cancel(): void;
}

interface Entry {
  run: (() => void) | null;
}

/** What the timetable needs of its surroundings. */
interface TimetableDeps {
  monotonic(): number;
  /**
   * Returns a function that clears the timer. Without, whoever owns the thread asks for `dueMs` and calls
   * `runDue`.
   */
  readonly setTimer?: (run: () => void, delayMs: number) => () => void;
  onError(error: unknown): void;
}

/**
 * All timed work of a thread, behind one timer or the thread's own loop: the first due first. Tasks due
 * together run in the order of their making.
 */
export class Timetable {
  readonly #deps: TimetableDeps;
  readonly #heap = new MinHeap<Entry>();
  #clear: (() => void) | null = null;
  #armedForMs = Number.POSITIVE_INFINITY;

  constructor(deps: TimetableDeps) {
    this.#deps = deps;
  }

  /** Runs `run` at `atMs` of the monotonic clock, or as soon as the thread gets to it. */
  at(atMs: number, run: () => void): Appointment {
    const entry: Entry = { run };
    this.#heap.push(atMs, entry);
    this.#arm();
    return {
      cancel: () => {
        // The entry stays in the heap until it is due: removing from the middle isn't worth its cost.
        entry.run = null;
      },
    };
  }

  /** When the first task is due; infinite without one. */
  get dueMs(): number {
    return this.#heap.nextKey;
  }

  /** Runs what is due by now. */
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
    // Timers count in whole milliseconds and may end a little early: #run looks at the clock again.
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
