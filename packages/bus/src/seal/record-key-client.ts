import { speakerText, type ProvenSpeaker } from "@isochrone/telemetry";
import { DEFAULT_BACKOFF, delayMs, pause } from "@isochrone/runtime";
import { reasonOf } from "@isochrone/primitives";
import type { Clock, Fetch, FetchAnswer, Logger, Random, Service } from "@isochrone/runtime";

import { BusError } from "../ports/errors.ts";
import { MacKey } from "./record-mac.ts";
import type { RecordKey } from "./sealed-bus.ts";

interface RecordKeyClientOptions {
  readonly aggregatorUrl: string;
  readonly speaker: ProvenSpeaker;
  /** For example one that sends a token. */
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Refresh interval; far less than an aggregator keeps a retired key. @default 300000 */
  readonly refreshMs?: number;
}

export interface RecordKeyAnswer {
  readonly speaker: string;
  readonly keyId: number;
  /** Base64url of 32 bytes. */
  readonly key: string;
}

const DEFAULT_REFRESH_MS = 300_000;
const REQUEST_TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 4_096;
const MAX_KEY_ID = 65_535;
const KEY_TEXT = /^[A-Za-z0-9_-]{43}$/;
/** The first pause is random, up to 1 s, so that publishers don't all ask a restarted aggregator at once. */
const BACKOFF = { ...DEFAULT_BACKOFF, initialMs: 1_000, maxMs: 60_000 };

/**
 * Holds the key that seals this process's records. Gets it from the aggregator, keeps it in memory, and
 * refreshes it for rotations. Without a key, publishing fails as `unavailable`, so a buffered publisher keeps
 * its records.
 */
export class RecordKeyClient implements Service {
  readonly #options: RecordKeyClientOptions;
  readonly #speaker: string;
  readonly #url: string;
  readonly #stopping = new AbortController();
  #key: RecordKey | null = null;
  #etag: string | null = null;
  #running: Promise<void> | null = null;

  constructor(options: RecordKeyClientOptions) {
    this.#options = options;
    this.#speaker = speakerText(options.speaker);
    this.#url = `${options.aggregatorUrl.replace(/\/+$/, "")}${recordKeyPath(options.speaker)}`;
  }

  /** @throws BusError `unavailable` before the first answer */
  readonly current = (): RecordKey => {
    if (this.#key !== null) return this.#key;
    throw new BusError("unavailable", `the aggregator has not given the record key of ${this.#speaker} yet`);
  };

  async start(): Promise<void> {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, random, logger, refreshMs = DEFAULT_REFRESH_MS } = this.#options;
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted;) {
      try {
        await this.#ask(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        logger.warnOnce(`record-key:${reasonOf(error)}`, "the key that seals records can't be read", {
          speaker: this.#speaker,
          hasKey: this.#key !== null,
          error,
        });
      }
      await pause(clock, failures === 0 ? refreshMs : delayMs(BACKOFF, failures, random), signal);
    }
  }

  async #ask(stopping: AbortSignal): Promise<void> {
    const headers: Record<string, string> = { accept: "application/json" };
    if (this.#etag !== null) headers["if-none-match"] = this.#etag;
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
    const response = await this.#options.fetch(this.#url, { headers, signal, redirect: "error" });
    if (response.status === 304) {
      await response.body?.cancel();
      return;
    }
    if (response.status !== 200) {
      await response.body?.cancel();
      throw this.#unusable(`must have status 200, got ${response.status}`);
    }
    const text = await readBounded(response);
    if (text === null) throw this.#unusable(`must have at most ${MAX_ANSWER_BYTES} bytes, got more`);
    this.#key = this.#keyOf(text);
    this.#etag = response.headers.get("etag");
  }

  /** The text contains a secret: never show it in a message. */
  #keyOf(text: string): RecordKey {
    let answer: Partial<Record<keyof RecordKeyAnswer, unknown>> | null;
    try {
      answer = JSON.parse(text) as Partial<Record<keyof RecordKeyAnswer, unknown>> | null;
    } catch {
      throw this.#unusable("must be JSON, got something else");
    }
    const { speaker, keyId, key } = answer ?? {};
    if (speaker !== this.#speaker) throw this.#unusable(`must be for the speaker ${this.#speaker}`);
    if (typeof keyId !== "number" || !Number.isInteger(keyId) || keyId < 1 || keyId > MAX_KEY_ID)
      throw this.#unusable(`must have a keyId of 1 to ${MAX_KEY_ID}`);
    if (typeof key !== "string" || !KEY_TEXT.test(key))
      throw this.#unusable("must have a key of 32 bytes in base64url");
    return { speaker, keyId, key: new MacKey(Buffer.from(key, "base64url")) };
  }

  #unusable(rule: string): BusError {
    return new BusError("unavailable", `the answer of ${this.#url} ${rule}`);
  }
}

function recordKeyPath(speaker: ProvenSpeaker): string {
  return speaker.kind === "node"
    ? `/api/v1/record-key/${encodeURIComponent(speaker.node)}`
    : `/api/v1/record-key/service/${encodeURIComponent(speaker.name)}`;
}

async function readBounded(response: FetchAnswer): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
