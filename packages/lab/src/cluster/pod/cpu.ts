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
