import type { Clock } from "./clock.ts";

export interface PeriodicOptions {
  readonly clock: Clock;
  /** From start to start; a longer run skips missed ones. A function is called before each wait. */
  readonly intervalMs: number | (() => number);
  run(signal: AbortSignal): Promise<void> | void;
  /** Receives errors of runs, except aborts; must not throw. */
  onError(error: unknown): void;
  readonly immediate?: boolean;
}

export interface Periodic {
  start(): void;
  /** Aborts the run in flight and waits for its end. */
  stop(): Promise<void>;
  /** Requests a run as soon as possible. Calls during a run cause one more run after it. */
  trigger(): void;
}

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
      // Triggered runs keep the rhythm; a long run skips missed times.
      else if (beganMs >= dueMs)
        dueMs += intervalMs * (1 + Math.floor((clock.monotonic() - dueMs) / intervalMs));
    }
  }

  // True if a run is due or requested; false if the loop must end.
  async #wait(dueMs: number): Promise<boolean> {
    const waitMs = dueMs - this.#options.clock.monotonic();
    if (waitMs > 0 && !this.#triggered && !this.#stopped.signal.aborted) {
      this.#wake = new AbortController();
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
