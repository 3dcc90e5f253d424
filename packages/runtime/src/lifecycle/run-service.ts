import type { Clock } from "../clock.ts";
import { withDeadline } from "../deadline.ts";
import type { Logger } from "../log.ts";
import type { Service } from "../service.ts";
import { systemClock } from "../system.ts";
import { Lifecycle } from "./lifecycle.ts";
import { nodeProcessHost } from "./process-host.ts";
import type { ProcessHost, StopSignal } from "./process-host.ts";

/** A second signal exits with 128 plus its number, like a shell. */
const EXIT_CODES = { ok: 0, failed: 1, SIGINT: 130, SIGTERM: 143 } as const;

export interface RunServiceOptions {
  readonly service: Service;
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly host?: ProcessHost;
  /** Follows the service; share it with the readiness check. */
  readonly lifecycle?: Lifecycle;
  /** Stops accepting work and finishes what is in flight. @default nothing */
  drain?(signal: AbortSignal): Promise<void>;
  readonly drainDeadlineMs?: number;
  readonly stopDeadlineMs?: number;
}

/**
 * Runs a service until a signal: start, run, drain, stop. A second signal ends the process at once. Exits and
 * returns the code: 0 after a clean stop; 1 if start, drain or stop failed, or an error was uncaught.
 */
export async function runService(options: RunServiceOptions): Promise<number> {
  const host = options.host ?? nodeProcessHost();
  const code = await new ServiceRun(options, host).run();
  host.exit(code);
  return code;
}

class ServiceRun {
  readonly #options: RunServiceOptions;
  readonly #host: ProcessHost;
  readonly #clock: Clock;
  readonly #lifecycle: Lifecycle;
  readonly #ended = Promise.withResolvers<void>();
  #firstSignal = true;
  #code: number = EXIT_CODES.ok;

  constructor(options: RunServiceOptions, host: ProcessHost) {
    this.#options = options;
    this.#host = host;
    this.#clock = options.clock ?? systemClock;
    this.#lifecycle = options.lifecycle ?? new Lifecycle();
  }

  async run(): Promise<number> {
    const offSignal = this.#host.onSignal((signal) => this.#onSignal(signal));
    const offFatal = this.#host.onFatal((error) => this.#onFatal(error));
    try {
      await this.#start();
      await this.#ended.promise;
      await this.#drain();
      await this.#stop();
    } finally {
      offSignal();
      offFatal();
    }
    return this.#code;
  }

  async #start(): Promise<void> {
    const started = Promise.try(() => this.#options.service.start());
    // A signal during start must not wait for a hanging start.
    await Promise.race([started, this.#ended.promise]).then(
      () => this.#onStarted(),
      (error: unknown) => this.#fail("service failed to start", error),
    );
    started.catch(() => undefined);
  }

  #onStarted(): void {
    if (this.#lifecycle.state !== "starting" || !this.#firstSignal) return;
    this.#lifecycle.to("running");
    this.#options.logger.info("service running");
  }

  async #drain(): Promise<void> {
    const options = this.#options;
    this.#lifecycle.to("draining");
    if (options.drain === undefined) return;
    const drain = async (signal: AbortSignal): Promise<void> => options.drain?.(signal);
    await withDeadline(this.#clock, options.drainDeadlineMs ?? 10_000, "draining", drain).catch(
      (error: unknown) => this.#fail("draining failed", error),
    );
  }

  async #stop(): Promise<void> {
    const { service, stopDeadlineMs = 10_000, logger } = this.#options;
    await withDeadline(this.#clock, stopDeadlineMs, "stopping", () => service.stop()).catch(
      (error: unknown) => this.#fail("stopping failed", error),
    );
    this.#lifecycle.to("stopped");
    logger.info("service stopped", { code: this.#code });
  }

  #onSignal(signal: StopSignal): void {
    if (!this.#firstSignal) {
      this.#options.logger.warn("second signal, ending at once", { signal });
      this.#host.exit(EXIT_CODES[signal]);
      return;
    }
    this.#firstSignal = false;
    this.#options.logger.info("signal received, draining", { signal });
    this.#ended.resolve();
  }

  #onFatal(error: unknown): void {
    this.#fail("uncaught error", error);
  }

  #fail(event: string, error: unknown): void {
    this.#options.logger.error(event, { error });
    this.#code = EXIT_CODES.failed;
    this.#ended.resolve();
  }
}
