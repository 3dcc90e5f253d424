import { pause } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";
import type { IncomingMessage } from "node:http";

import { reasonOf } from "@isochrone/primitives";
import { StoreError } from "../../store/errors.ts";

const NEWLINE = 0x0a;
/** No object comes near it: etcd takes 1.5 MiB. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** The server has said nothing for too long: the connection may have died without a sign. */
export class SilenceError extends Error {
  constructor(silentMs: number) {
    super(`nothing came for ${silentMs} ms`);
  }
}

/**
 * The lines of an answer, as they are asked for: a slow reader slows the connection, nothing piles up here.
 * Throws SilenceError when nothing comes for `maxSilenceMs` while a line is waited for, and StoreError
 * `unavailable` when the connection breaks.
 */
export async function* linesOf(
  response: IncomingMessage,
  act: string,
  clock: Clock,
  maxSilenceMs: number,
): AsyncGenerator<string> {
  const watchdog = new Watchdog(response, clock, maxSilenceMs);
  let rest: Buffer[] = [];
  let restBytes = 0;
  try {
    for await (const chunk of watchdog.guard(response)) {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        yield Buffer.concat([...rest, chunk.subarray(start, end)]).toString();
        [rest, restBytes, start] = [[], 0, end + 1];
      }
      if (start === chunk.length) continue;
      rest.push(chunk.subarray(start));
      restBytes += chunk.length - start;
      if (restBytes > MAX_LINE_BYTES) throw new Error(`a line of more than ${MAX_LINE_BYTES} bytes`);
    }
    if (restBytes > 0) throw new Error("the answer ended in the middle of a line");
  } catch (error) {
    if (error instanceof SilenceError) throw error;
    const reason = reasonOf(error);
    throw new StoreError("unavailable", `${act}: the connection broke: ${reason}`, { cause: error });
  } finally {
    watchdog.end();
    response.destroy();
  }
}

/** Ends a connection on which nothing comes while something is waited for. */
class Watchdog {
  readonly #ended = new AbortController();
  readonly #clock: Clock;
  /** Since when a chunk is waited for; null while the reader is busy with the last one. */
  #waitingSinceMs: number | null = null;

  constructor(response: IncomingMessage, clock: Clock, maxSilenceMs: number) {
    this.#clock = clock;
    void this.#watch(response, maxSilenceMs);
  }

  async *guard(response: IncomingMessage): AsyncGenerator<Buffer> {
    const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    for (;;) {
      this.#waitingSinceMs = this.#clock.monotonic();
      const { done, value } = await chunks.next();
      this.#waitingSinceMs = null;
      if (done === true) return;
      yield value;
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
