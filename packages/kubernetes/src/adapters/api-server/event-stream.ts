import { pause } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";
import type { IncomingMessage } from "node:http";

import { reasonOf } from "@isochrone/primitives";
import { StoreError } from "../../store/errors.ts";
import type { Records } from "./records.ts";

export class SilenceError extends Error {
  constructor(silentMs: number) {
    super(`nothing came for ${silentMs} ms`);
  }
}

/**
 * Yields records by chunk, with backpressure. Throws SilenceError after `maxSilenceMs` of waiting, and
 * StoreError `unavailable` if the connection breaks.
 */
export async function* recordsOf(
  response: IncomingMessage,
  records: Records,
  {
    act,
    clock,
    maxSilenceMs,
  }: { readonly act: string; readonly clock: Clock; readonly maxSilenceMs: number },
): AsyncGenerator<readonly Buffer[]> {
  const watchdog = new Watchdog(response, clock, maxSilenceMs);
  const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  try {
    for (;;) {
      const { done, value } = await watchdog.waitFor(chunks.next());
      if (done === true) break;
      const complete = records.of(value);
      if (complete.length > 0) yield complete;
    }
    if (records.pendingBytes > 0) throw new Error("the answer ended in the middle of an event");
  } catch (error) {
    if (error instanceof SilenceError) throw error;
    const reason = reasonOf(error);
    throw new StoreError("unavailable", `${act}: the connection broke: ${reason}`, { cause: error });
  } finally {
    watchdog.end();
    response.destroy();
  }
}

class Watchdog {
  readonly #ended = new AbortController();
  readonly #clock: Clock;
  /** Start of waiting for a chunk. Null while the reader is busy. */
  #waitingSinceMs: number | null = null;

  constructor(response: IncomingMessage, clock: Clock, maxSilenceMs: number) {
    this.#clock = clock;
    void this.#watch(response, maxSilenceMs);
  }

  async waitFor<T>(chunk: Promise<T>): Promise<T> {
    this.#waitingSinceMs = this.#clock.monotonic();
    try {
      return await chunk;
    } finally {
      this.#waitingSinceMs = null;
    }
  }

  end(): void {
    this.#ended.abort();
  }

  async #watch(response: IncomingMessage, maxSilenceMs: number): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      const sinceMs = this.#waitingSinceMs ?? this.#clock.monotonic();
      const leftMs = sinceMs + maxSilenceMs - this.#clock.monotonic();
      if (leftMs <= 0) {
        response.destroy(new SilenceError(maxSilenceMs));
        return;
      }
      await pause(this.#clock, leftMs, signal);
    }
  }
}
