/** A task that can be called off. */
export interface Appointment {
  cancel(): void;
}

interface Entry {
  readonly atMs: number;
  readonly order: number;
  run: (() => void) | null;
}

/** What the timetable needs of its surroundings. */
export interface TimetableDeps {
  monotonic(): number;
  /** Returns a function that clears the timer. Without, whoever owns the thread asks for `dueMs` and calls `runDue`. */
  readonly setTimer?: (run: () => void, delayMs: number) => () => void;
  onError(error: unknown): void;
}

/** All timed work of a thread, behind one timer or the thread's own loop: a binary heap by due time. Tasks due together run in the order of their making. */
export class Timetable {
  readonly #deps: TimetableDeps;
  readonly #heap: Entry[] = [];
  #order = 0;
  #clear: (() => void) | null = null;
  #armedForMs = Number.POSITIVE_INFINITY;

  constructor(deps: TimetableDeps) {
    this.#deps = deps;
  }

  /** Runs `run` at `atMs` of the monotonic clock, or as soon as the thread gets to it. */
  at(atMs: number, run: () => void): Appointment {
    const entry: Entry = { atMs, order: this.#order++, run };
    this.#push(entry);
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
    return this.#heap[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /** Runs what is due by now. */
  runDue(): void {
    for (
      let first = this.#heap[0];
      first !== undefined && first.atMs <= this.#deps.monotonic();
      first = this.#heap[0]
    ) {
      this.#pop();
      try {
        first.run?.();
      } catch (error) {
        this.#deps.onError(error);
      }
    }
  }

  close(): void {
    this.#heap.length = 0;
    this.#clear?.();
    this.#clear = null;
    this.#armedForMs = Number.POSITIVE_INFINITY;
  }

  #arm(): void {
    const first = this.#heap[0];
    if (this.#deps.setTimer === undefined || first === undefined || first.atMs >= this.#armedForMs) return;
    this.#clear?.();
    this.#armedForMs = first.atMs;
    // Timers count in whole milliseconds and may end a little early: #run looks at the clock again.
    this.#clear = this.#deps.setTimer(
      () => this.#run(),
      Math.max(0, Math.ceil(first.atMs - this.#deps.monotonic())),
    );
  }

  #run(): void {
    this.#clear = null;
    this.#armedForMs = Number.POSITIVE_INFINITY;
    this.runDue();
    this.#arm();
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(entry, heap[parent] as Entry)) break;
      heap[at] = heap[parent] as Entry;
      at = parent;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Entry;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Entry, heap[child] as Entry)) child++;
      if (!before(heap[child] as Entry, last)) break;
      heap[at] = heap[child] as Entry;
      at = child;
    }
    heap[at] = last;
  }
}

function before(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
