import { pause } from "@isochrone/runtime";
import type { Clock, Logger } from "@isochrone/runtime";

const RETRY_MS = 500;

/**
 * Once started, runs `reconcile` after triggers: never two at a time, many triggers make one run, a failed
 * run is tried again.
 */
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

  /** Begins with a run. Before, triggers do nothing: not everything that a run needs is there yet. */
  start(): void {
    this.#started = true;
    this.trigger();
  }

  /** Never blocks. */
  trigger(): void {
    if (!this.#started || this.#stop.signal.aborted) return;
    this.#wanted = true;
    if (this.#running !== null) return;
    this.#running = this.#loop().finally(() => {
      this.#running = null;
      if (this.#wanted) this.trigger();
    });
  }

  /** Resolves when a run has ended that began after this, and nobody wants another one. */
  async settled(): Promise<void> {
    this.trigger();
    while (this.#running !== null) await this.#running;
  }

  /** Triggers a run after some time. */
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
      // Changes come in bursts: one turn of the event loop gathers them.
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
