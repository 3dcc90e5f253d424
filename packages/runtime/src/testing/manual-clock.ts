import type { Clock } from "../clock.ts";

interface Sleeper {
  readonly dueMs: number;
  readonly order: number;
  wake(): void;
}

/** A clock that tests advance. Sleeps end in order of their due times. */
export class ManualClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;
  #order = 0;
  #sleepers: Sleeper[] = [];

  /** @param startMs Unix milliseconds */
  constructor(startMs = 1_700_000_000_000) {
    this.#wallMs = startMs;
  }

  now(): number {
    return this.#wallMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const sleeper: Sleeper = {
        dueMs: this.#monotonicMs + Math.max(0, ms),
        order: this.#order++,
        wake(): void {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#sleepers.push(sleeper);
      return undefined;
    });
  }

  get pending(): number {
    return this.#sleepers.length;
  }

  /** Advances both times, stopping at each due sleep so that its code runs before time continues. */
  async advance(ms: number): Promise<void> {
    const targetMs = this.#monotonicMs + ms;
    await settle();
    for (let next = this.#next(targetMs); next !== undefined; next = this.#next(targetMs)) {
      this.#moveTo(next.dueMs);
      this.#sleepers = this.#sleepers.filter((other) => other !== next);
      next.wake();
      await settle();
    }
    this.#moveTo(targetMs);
    await settle();
  }

  /** Steps wall time only, like an NTP correction; sleeps and `monotonic` are unaffected. */
  stepWall(ms: number): void {
    this.#wallMs += ms;
  }

  #next(untilMs: number): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      if (sleeper.dueMs > untilMs) continue;
      const earlier = first === undefined || sleeper.dueMs < first.dueMs;
      if (earlier || (sleeper.dueMs === first?.dueMs && sleeper.order < first.order)) first = sleeper;
    }
    return first;
  }

  #moveTo(monotonicMs: number): void {
    const stepMs = Math.max(0, monotonicMs - this.#monotonicMs);
    this.#monotonicMs += stepMs;
    this.#wallMs += stepMs;
  }
}

// One turn of the event loop runs all ready promise callbacks, including chains.
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
