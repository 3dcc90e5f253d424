import { pause } from "@isochrone/runtime";
import type { Clock, Logger } from "@isochrone/runtime";

const RETRY_MS = 500;

/** Runs `reconcile` after triggers: never concurrently, coalesced, with retries. */
export class Reconciler {
  readonly #name: string;
  readonly #reconcile: () => Promise<void>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  #wanted = false;
  #started = false;
  #running: Promise<void> | null = null;

  constructor(options: { name: string; reconcile: () => Promise<void>; clock: Clock; logger: Logger }) {
    this.#name = options.name;
    this.#reconcile = options.reconcile;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  /** Starts with a run. Ignores earlier triggers, because a run's inputs may be missing. */
  start(): void {
    this.#started = true;
    this.trigger();
  }

  trigger(): void {
    if (!this.#started || this.#stop.signal.aborted) return;
    this.#wanted = true;
    if (this.#running !== null) return;
    this.#running = this.#loop().finally(() => {
      this.#running = null;
      if (this.#wanted) this.trigger();
    });
  }

  /** Resolves when a run that began after this call has ended and none is pending. */
  async settled(): Promise<void> {
    this.trigger();
    while (this.#running !== null) await this.#running;
  }

  triggerLater(ms: number): void {
    void this.#clock.sleep(ms, this.#stop.signal).then(
      () => this.trigger(),
      () => {},
    );
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #loop(): Promise<void> {
    while (this.#wanted && !this.#stop.signal.aborted) {
      // One turn of the event loop coalesces bursts.
      await new Promise((resolve) => setImmediate(resolve));
      this.#wanted = false;
      try {
        await this.#reconcile();
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        this.#logger.warnOnce(this.#name, "reconciliation failed, trying again", {
          controller: this.#name,
          error,
        });
        this.#wanted = true;
        await pause(this.#clock, RETRY_MS, this.#stop.signal);
      }
    }
    this.#wanted = false;
  }
}
