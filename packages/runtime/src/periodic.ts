import type { Clock } from "./clock.ts";

/** Options of {@link periodic}. */
export interface PeriodicOptions {
  readonly clock: Clock;
  /**
   * From the start of one run to the start of the next; a run that takes longer skips the missed ones. A
   * function is asked before each wait, and gives the pause from then on.
   */
  readonly intervalMs: number | (() => number);
  /** One run. The signal is aborted by `stop`. */
  run(signal: AbortSignal): Promise<void> | void;
  /** Gets what a run throws, except its own abortion; must not throw. */
  onError(error: unknown): void;
  /** Whether the first run comes at once instead of after an interval. @default false */
  readonly immediate?: boolean;
}

/** Work that comes back at an interval and never overlaps itself. */
export interface Periodic {
  /** Begins; further calls, and calls after `stop`, do nothing. */
  start(): void;
  /** Aborts the run in flight and waits for its end. */
  stop(): Promise<void>;
  /**
   * Asks for a run as soon as possible. While one is under way, any number of calls gives one more run after
   * it.
   */
  trigger(): void;
}

/** Makes {@link Periodic} work. */
export function periodic(options: PeriodicOptions): Periodic {
  return new PeriodicLoop(options);
}

class PeriodicLoop implements Periodic {
  readonly #options: PeriodicOptions;
  readonly #stopped = new AbortController();
  #loop: Promise<void> | null = null;
  #triggered = false;
  #wake: AbortController | null = null;

  constructor(options: PeriodicOptions) {
    if (typeof options.intervalMs === "number" && !(options.intervalMs > 0))
      throw new RangeError(`intervalMs must be above 0, got ${options.intervalMs}`);
    this.#options = options;
  }

  start(): void {
    if (!this.#stopped.signal.aborted) this.#loop ??= this.#repeat();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#wake?.abort();
    await this.#loop;
  }

  trigger(): void {
    this.#triggered = true;
    this.#wake?.abort();
  }

  async #repeat(): Promise<void> {
    const { clock, intervalMs, immediate } = this.#options;
    const pauseMs = typeof intervalMs === "number" ? () => intervalMs : intervalMs;
    let dueMs = clock.monotonic() + (immediate ? 0 : pauseMs());
    while (await this.#wait(dueMs)) {
      this.#triggered = false;
      const beganMs = clock.monotonic();
      await this.#runOnce();
      if (typeof intervalMs !== "number") dueMs = clock.monotonic() + pauseMs();
      // a run by trigger leaves the rhythm as it is; a long run skips the times that it has missed
      else if (beganMs >= dueMs)
        dueMs += intervalMs * (1 + Math.floor((clock.monotonic() - dueMs) / intervalMs));
    }
  }

  // True when a run is due or asked for; false when the loop must end.
  async #wait(dueMs: number): Promise<boolean> {
    const waitMs = dueMs - this.#options.clock.monotonic();
    if (waitMs > 0 && !this.#triggered && !this.#stopped.signal.aborted) {
      this.#wake = new AbortController();
      // the only way for the sleep to reject is the wake-up by trigger or stop
      await this.#options.clock.sleep(waitMs, this.#wake.signal).catch(() => undefined);
      this.#wake = null;
    }
    return !this.#stopped.signal.aborted;
  }

  async #runOnce(): Promise<void> {
    const { signal } = this.#stopped;
    try {
      await this.#options.run(signal);
    } catch (error) {
      const ownAbort = signal.aborted && (error === signal.reason || isAbortError(error));
      if (!ownAbort) this.#options.onError(error);
    }
  }
}

function isAbortError(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
