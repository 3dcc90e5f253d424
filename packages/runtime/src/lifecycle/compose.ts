import { reasonOf } from "@isochrone/primitives";
import type { Clock } from "../clock.ts";
import { withDeadline } from "../deadline.ts";
import { ServiceError } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { Service } from "../service.ts";

/** A service with the name that errors and log lines use. */
export interface NamedService {
  readonly name: string;
  readonly service: Service;
}

/** Options of {@link composeServices}. */
export interface ComposeOptions {
  readonly clock: Clock;
  readonly logger?: Logger;
  /** For each service alone. @default 30000 */
  readonly startDeadlineMs?: number;
  /** For each service alone. @default 10000 */
  readonly stopDeadlineMs?: number;
}

/**
 * Several services as one: started in order, stopped in reverse. When one fails to start, those before it (and itself)
 * are stopped. A failure to stop doesn't keep the others from being stopped; all failures come in one ServiceError.
 */
export function composeServices(services: readonly NamedService[], options: ComposeOptions): Service {
  return new ComposedService(services, options);
}

class ComposedService implements Service {
  readonly #services: readonly NamedService[];
  readonly #options: ComposeOptions;
  readonly #started: NamedService[] = [];
  #stopping = false;

  constructor(services: readonly NamedService[], options: ComposeOptions) {
    this.#services = services;
    this.#options = options;
  }

  async start(): Promise<void> {
    const { clock, logger, startDeadlineMs = 30_000 } = this.#options;
    for (const entry of this.#services) {
      // a stop that came while a service was starting: leave the rest alone
      if (this.#stopping) return;
      this.#started.push(entry);
      try {
        await withDeadline(clock, startDeadlineMs, `start of ${entry.name}`, () => entry.service.start());
        logger?.debug("service started", { name: entry.name });
      } catch (error) {
        const failures = [error, ...(await this.#stopAll())];
        throw new ServiceError(`${entry.name} must start and did not: ${reasonOf(error)}`, failures);
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const failures = await this.#stopAll();
    if (failures.length > 0)
      throw new ServiceError(`stopping failed: ${failures.map(reasonOf).join("; ")}`, failures);
  }

  async #stopAll(): Promise<unknown[]> {
    const { clock, logger, stopDeadlineMs = 10_000 } = this.#options;
    const failures: unknown[] = [];
    for (let entry = this.#started.pop(); entry !== undefined; entry = this.#started.pop()) {
      const { name, service } = entry;
      try {
        await withDeadline(clock, stopDeadlineMs, `stop of ${name}`, () => service.stop());
        logger?.debug("service stopped", { name });
      } catch (error) {
        logger?.warn("service failed to stop", { name, error });
        failures.push(error);
      }
    }
    return failures;
  }
}
