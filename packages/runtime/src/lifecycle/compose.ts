import { reasonOf } from "@isochrone/primitives";
import type { Clock } from "../clock.ts";
import { withDeadline } from "../deadline.ts";
import { ServiceError } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { ComposedService, Part } from "../service.ts";

interface Deadlines {
  readonly clock: Clock;
  readonly startMs: number;
  readonly stopMs: number;
}

interface ComposeOptions {
  readonly logger?: Logger;
  /** @default none: the process composes all parts and sets their deadlines */
  readonly deadlines?: Deadlines;
}

/**
 * Starts parts in order and stops them in reverse. If one fails to start, it and the earlier ones are
 * stopped. Stop failures are collected in one ServiceError. Composed parts are flattened, so that each part
 * has a deadline.
 */
export function composeServices(parts: readonly Part[], options: ComposeOptions = {}): ComposedService {
  return new Composition(parts.flatMap(flat), options);
}

function flat(part: Part): readonly Part[] {
  if (part.service === null) return [];
  const { parts } = part.service;
  if (parts === undefined) return [part];
  return parts.flatMap(flat).map((inner) => ({ ...inner, name: `${part.name}/${inner.name}` }));
}

class Composition implements ComposedService {
  readonly parts: readonly Part[];
  readonly #options: ComposeOptions;
  readonly #started: Part[] = [];
  #stop: Promise<void> | null = null;

  constructor(parts: readonly Part[], options: ComposeOptions) {
    this.parts = parts;
    this.#options = options;
  }

  async start(): Promise<void> {
    const { logger, deadlines } = this.#options;
    for (const part of this.parts) {
      if (this.#stop !== null) return;
      const { name, service } = part;
      this.#started.push(part);
      try {
        await within(deadlines, "start", name, async () => service?.start?.());
        logger?.debug("part started", { name });
      } catch (error) {
        const failures: unknown[] = [error];
        await this.stop().catch((failure: unknown) => failures.push(failure));
        throw new ServiceError(`${name} must start and did not: ${reasonOf(error)}`, failures);
      }
    }
  }

  stop(): Promise<void> {
    this.#stop ??= stopParts(this.#started, this.#options);
    return this.#stop;
  }
}

/** Stops parts in reverse. Continues after failures, and throws all in one ServiceError. */
export async function stopParts(parts: readonly Part[], options: ComposeOptions = {}): Promise<void> {
  const { logger, deadlines } = options;
  const failures: ServiceError[] = [];
  for (const { name, service } of parts.toReversed()) {
    try {
      await within(deadlines, "stop", name, async () => service?.stop?.());
      logger?.debug("part stopped", { name });
    } catch (error) {
      logger?.warn("part failed to stop", { name, error });
      failures.push(new ServiceError(`${name} must stop and did not: ${reasonOf(error)}`, [error]));
    }
  }
  if (failures.length > 0) throw new ServiceError(failures.map(reasonOf).join("; "), failures);
}

async function within(
  deadlines: Deadlines | undefined,
  what: "start" | "stop",
  name: string,
  work: () => Promise<void>,
): Promise<void> {
  if (deadlines === undefined) return await work();
  const { clock, startMs, stopMs } = deadlines;
  await withDeadline(clock, what === "start" ? startMs : stopMs, `${what} of ${name}`, work);
}
