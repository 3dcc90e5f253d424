export interface Cpu {
  /** Calls `done` after `cpuMs` of one core; works run one after the other. */
  work(cpuMs: number, done: () => void): void;
}

function burn(cpuMs: number, monotonic: () => number): void {
  const endMs = monotonic() + cpuMs;
  while (monotonic() < endMs);
}

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

/** Simulated core with a bounded queue: works run in sequence and only count as CPU time. */
export class ModelledCpu implements Cpu {
  readonly #waiting: { readonly cpuMs: number; readonly done: () => void }[] = [];
  readonly #monotonic: () => number;
  #freeAtMs: number;
  #isBusy = false;
  #workedMs = 0;
  #endsMs: number[] = [];

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
    this.#freeAtMs = monotonic();
  }

  get workedSeconds(): number {
    return this.#workedMs / 1000;
  }

  get queueLength(): number {
    return this.#waiting.length + (this.#isBusy ? 1 : 0);
  }

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

  /** Starts at the previous work's planned end, so a late timer costs no capacity. */
  #next(): void {
    const next = this.#waiting.shift();
    this.#isBusy = next !== undefined;
    if (next === undefined) return;
    this.#freeAtMs += next.cpuMs;
    setTimeout(
      () => {
        this.#workedMs += next.cpuMs;
        this.#endsMs.push(this.#monotonic());
        this.#next();
        next.done();
      },
      Math.max(0, this.#freeAtMs - this.#monotonic()),
    );
  }
}

/** Works at the pace of the node's budget: executes here, and completes when the node says so. */
export class SharedCpu implements Cpu {
  readonly #monotonic: () => number;
  readonly #ask: (id: number, cpuMs: number) => void;
  readonly #open = new Map<number, () => void>();
  #lastId = 0;

  constructor(monotonic: () => number, ask: (id: number, cpuMs: number) => void) {
    this.#monotonic = monotonic;
    this.#ask = ask;
  }

  work(cpuMs: number, done: () => void): void {
    const id = ++this.#lastId;
    this.#open.set(id, done);
    // Ask first, so that the node's time runs while this process works.
    this.#ask(id, cpuMs);
    burn(cpuMs, this.#monotonic);
  }

  worked(id: number): void {
    const done = this.#open.get(id);
    this.#open.delete(id);
    done?.();
  }
}
