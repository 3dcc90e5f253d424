import { pause, type Clock, type Random } from "@isochrone/runtime";

/**
 * Refreshes come up to this share of the interval earlier or later: the probes of a cluster don't all ask at
 * one moment.
 */
const JITTER_RATIO = 0.2;
/** The first one comes within this share of the interval, and this time. Milliseconds. */
const FIRST_RATIO = 0.1;
const FIRST_MAX_MS = 1000;

interface PlanRefreshDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly intervalMs: number;
  /** One refresh; resolves with the least time until the next, ms. */
  run(signal: AbortSignal): Promise<number>;
  /** Gets what `run` throws, except its own abortion. */
  onError(error: unknown): void;
}

/**
 * Refreshes that come back at about an interval, at random within it, and not before the source wants to be
 * asked again.
 */
export class PlanRefresh {
  readonly #deps: PlanRefreshDeps;
  readonly #stopped = new AbortController();
  #loop: Promise<void> | null = null;
  #triggered = false;
  #wake: AbortController | null = null;

  constructor(deps: PlanRefreshDeps) {
    this.#deps = deps;
  }

  /** Begins; further calls, and calls after `stop`, do nothing. */
  start(): void {
    if (!this.#stopped.signal.aborted) this.#loop ??= this.#repeat();
  }

  /** Aborts the refresh in flight and waits for its end. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#wake?.abort();
    await this.#loop;
  }

  /** Asks for a refresh now. While one is under way, any number of calls gives one more after it. */
  trigger(): void {
    this.#triggered = true;
    this.#wake?.abort();
  }

  async #repeat(): Promise<void> {
    const { random, intervalMs } = this.#deps;
    let waitMs = Math.min(FIRST_MAX_MS, intervalMs * FIRST_RATIO) * random.next();
    while (await this.#wait(waitMs)) {
      this.#triggered = false;
      const leastMs = await this.#runOnce();
      const nextMs = intervalMs * (1 - JITTER_RATIO + 2 * JITTER_RATIO * random.next());
      // Who was told to come later comes at random after that, not all together.
      waitMs = leastMs > nextMs ? leastMs + intervalMs * JITTER_RATIO * random.next() : nextMs;
    }
  }

  /** False when the loop must end. */
  async #wait(waitMs: number): Promise<boolean> {
    if (!this.#triggered && !this.#stopped.signal.aborted) {
      this.#wake = new AbortController();
      await pause(this.#deps.clock, waitMs, this.#wake.signal);
      this.#wake = null;
    }
    return !this.#stopped.signal.aborted;
  }

  async #runOnce(): Promise<number> {
    const { signal } = this.#stopped;
    try {
      return await this.#deps.run(signal);
    } catch (error) {
      if (!signal.aborted) this.#deps.onError(error);
      return 0;
    }
  }
}
