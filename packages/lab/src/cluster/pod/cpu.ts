/** What does a program's busy work. */
export interface Cpu {
  /** Calls `done` when so many milliseconds of one core have been worked; one work after the other. */
  work(cpuMs: number, done: () => void): void;
}

function burn(cpuMs: number, monotonic: () => number): void {
  const endMs = monotonic() + cpuMs;
  while (monotonic() < endMs);
}

/** As fast as the machine can. */
export class OwnCpu implements Cpu {
  readonly #monotonic: () => number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  work(cpuMs: number, done: () => void): void {
    burn(cpuMs, this.#monotonic);
    done();
  }
}

const RATE_MS = 3_000;

/**
 * A core of its own that is not this machine's: work takes its time, one after the other, and counts as CPU
 * time, while the machine is free for others. A queue of work has an end.
 */
export class ModelledCpu implements Cpu {
  readonly #waiting: { readonly cpuMs: number; readonly done: () => void }[] = [];
  readonly #monotonic: () => number;
  #freeAtMs: number;
  #isBusy = false;
  #workedMs = 0;
  /** Ends of the works of the last seconds. */
  #endsMs: number[] = [];

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
    this.#freeAtMs = monotonic();
  }

  /** What it has worked so far. */
  get workedSeconds(): number {
    return this.#workedMs / 1000;
  }

  /** Works that wait or are worked on. */
  get queueLength(): number {
    return this.#waiting.length + (this.#isBusy ? 1 : 0);
  }

  /** Of the last seconds. */
  get worksPerSecond(): number {
    const sinceMs = this.#monotonic() - RATE_MS;
    this.#endsMs = this.#endsMs.filter((endMs) => endMs >= sinceMs);
    return this.#endsMs.length / (RATE_MS / 1000);
  }

  work(cpuMs: number, done: () => void): void {
    this.#waiting.push({ cpuMs, done });
    if (this.#isBusy) return;
    this.#freeAtMs = this.#monotonic();
    this.#next();
  }

  /** By the time at which the work before should have ended: a late timer costs no capacity. */
  #next(): void {
    const next = this.#waiting.shift();
    this.#isBusy = next !== undefined;
    if (next === undefined) return;
    this.#freeAtMs += next.cpuMs;
    setTimeout(
      () => {
        this.#workedMs += next.cpuMs;
        this.#endsMs.push(this.#monotonic());
        // What is done isn't in the queue any more.
        this.#next();
        next.done();
      },
      Math.max(0, this.#freeAtMs - this.#monotonic()),
    );
  }
}

/** As fast as the node's budget allows: the work is done here, and counts as done when the node says so. */
export class SharedCpu implements Cpu {
  readonly #monotonic: () => number;
  readonly #ask: (id: number, cpuMs: number) => void;
  readonly #open = new Map<number, () => void>();
  #lastId = 0;

  /** @param ask sends the work to the node, which answers by {@link worked} */
  constructor(monotonic: () => number, ask: (id: number, cpuMs: number) => void) {
    this.#monotonic = monotonic;
    this.#ask = ask;
  }

  work(cpuMs: number, done: () => void): void {
    const id = ++this.#lastId;
    this.#open.set(id, done);
    // Asked first: the node's time runs while this process burns its own.
    this.#ask(id, cpuMs);
    burn(cpuMs, this.#monotonic);
  }

  worked(id: number): void {
    const done = this.#open.get(id);
    this.#open.delete(id);
    done?.();
  }
}
