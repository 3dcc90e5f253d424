/** Wakes the queue at a point of the relay's clock; a later call with an earlier time replaces the former. */
export interface WakeTimer {
  wakeAt(timeMs: number): void;
}

interface Entry {
  readonly dueMs: number;
  readonly sequence: number;
  run(): void;
}

/** Runs things when they are due: in order of time, and of adding where times are equal. A binary heap. */
export class DelayQueue {
  readonly #monotonic: () => number;
  readonly #timer: WakeTimer;
  readonly #heap: Entry[] = [];
  #sequence = 0;
  #draining = false;

  constructor(monotonic: () => number, timer: WakeTimer) {
    this.#monotonic = monotonic;
    this.#timer = timer;
  }

  get size(): number {
    return this.#heap.length;
  }

  add(dueMs: number, run: () => void): void {
    this.#push({ dueMs, sequence: this.#sequence++, run });
    this.drain();
  }

  /** Runs what is due and asks to be woken for the rest. Does nothing when called by something that it runs. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    try {
      for (
        let head = this.#heap[0];
        head !== undefined && head.dueMs <= this.#monotonic();
        head = this.#heap[0]
      ) {
        this.#removeHead();
        head.run();
      }
    } finally {
      this.#draining = false;
      const next = this.#heap[0];
      if (next !== undefined) this.#timer.wakeAt(next.dueMs);
    }
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(entry, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  #removeHead(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence);
}
