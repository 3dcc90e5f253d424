import type { Clock } from "@isochrone/runtime";

export interface CpuBudget {
  /** Factor on all work, at least 1; 1: as declared. */
  readonly slowdown: number;
}

interface Work {
  readonly cpuMs: number;
  done(this: void): void;
}

interface PodQueue {
  readonly waiting: Work[];
  current: Work;
  finishAt: number;
}

/**
 * A node's CPU by processor sharing in virtual time: busy pods share it equally, at most one core each,
 * because they are single-threaded. A pod's works queue.
 */
export class NodeCpu {
  readonly #cores: number;
  readonly #slowdown: number;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #wake: (afterMs: number, run: () => void) => () => void;
  readonly #busy = new Map<string, PodQueue>();
  readonly #workedMs = new Map<string, number>();
  #virtualMs = 0;
  #updatedMs: number;
  #cancel: (() => void) | null = null;

  constructor(
    cpuMillicores: number,
    { slowdown }: CpuBudget,
    clock: Pick<Clock, "monotonic">,
    wake: (afterMs: number, run: () => void) => () => void = timer,
  ) {
    if (!(slowdown >= 1)) throw new RangeError(`slowdown of a CPU must be at least 1, got ${slowdown}`);
    this.#cores = cpuMillicores / 1000;
    this.#slowdown = slowdown;
    this.#clock = clock;
    this.#wake = wake;
    this.#updatedMs = clock.monotonic();
  }

  /** `done` is never called if the pod is removed first. */
  work(pod: string, cpuMs: number, done: () => void): void {
    this.#advance();
    const queue = this.#busy.get(pod);
    const work = { cpuMs, done };
    if (queue !== undefined) queue.waiting.push(work);
    else this.#busy.set(pod, { waiting: [], current: work, finishAt: this.#virtualMs + cpuMs });
    this.#rearm();
  }

  remove(pod: string): void {
    this.#advance();
    this.#busy.delete(pod);
    this.#rearm();
  }

  /** Done work, ms of one core. */
  workedMs(pod: string): number {
    return this.#workedMs.get(pod) ?? 0;
  }

  /** Wall time per ms of each busy pod's work. */
  get #paceMs(): number {
    return this.#slowdown / Math.min(1, this.#cores / Math.max(1, this.#busy.size));
  }

  #advance(): void {
    const nowMs = this.#clock.monotonic();
    for (let next = this.#first(); next !== null; next = this.#first()) {
      const [pod, queue] = next;
      const atMs = this.#updatedMs + Math.max(0, queue.finishAt - this.#virtualMs) * this.#paceMs;
      if (atMs > nowMs) break;
      this.#virtualMs = queue.finishAt;
      this.#updatedMs = atMs;
      this.#finish(pod, queue);
    }
    this.#virtualMs += (nowMs - this.#updatedMs) / this.#paceMs;
    this.#updatedMs = nowMs;
  }

  #finish(pod: string, queue: PodQueue): void {
    const { cpuMs, done } = queue.current;
    this.#workedMs.set(pod, this.workedMs(pod) + cpuMs);
    const next = queue.waiting.shift();
    if (next === undefined) this.#busy.delete(pod);
    else {
      queue.current = next;
      queue.finishAt = this.#virtualMs + next.cpuMs;
    }
    done();
  }

  #first(): [string, PodQueue] | null {
    let first: [string, PodQueue] | null = null;
    for (const entry of this.#busy)
      if (first === null || entry[1].finishAt < first[1].finishAt) first = entry;
    return first;
  }

  #rearm(): void {
    this.#cancel?.();
    this.#cancel = null;
    const next = this.#first();
    if (next === null) return;
    const afterMs = Math.max(0, next[1].finishAt - this.#virtualMs) * this.#paceMs;
    this.#cancel = this.#wake(afterMs, () => {
      this.#cancel = null;
      this.#advance();
      this.#rearm();
    });
  }
}

function timer(afterMs: number, run: () => void): () => void {
  const handle = setTimeout(run, Math.floor(afterMs));
  return () => clearTimeout(handle);
}
