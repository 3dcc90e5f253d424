import { encodeHeaders } from "@isochrone/telemetry";
import { DEFAULT_BACKOFF, delayMs, pause } from "@isochrone/runtime";
import type { BackoffDelays, Clock, Random } from "@isochrone/runtime";

import { BusError } from "./errors.ts";
import { DROPPED_HEADER } from "./port.ts";
import type { OutgoingRecord, Publisher } from "./port.ts";
import { SendQueue } from "./send-queue.ts";
import type { QueuedRecord, Stream } from "./send-queue.ts";

/** Why a record was given up: the buffer was full, it alone is larger than the buffer, the bus refused it for good, the publisher was closed. */
export const DROP_REASONS = ["full", "too_large", "rejected", "closed"] as const;
export type DropReason = (typeof DROP_REASONS)[number];

/** How a buffered publisher is built. */
export interface BufferedPublisherOptions {
  readonly publisher: Publisher;
  /** Name of the publisher, unique in the cluster. */
  readonly source: string;
  /** One life of the publisher. @default drawn from `clock` and `random` */
  readonly epoch?: string;
  readonly clock: Clock;
  readonly random: Random;
  /** @default 10000 */
  readonly maxRecords?: number;
  /** Values and 200 bytes per record. @default 16 MiB */
  readonly maxBytes?: number;
  /** Pauses while the bus is away. @default DEFAULT_BACKOFF from 200 ms to 10 s */
  readonly backoff?: BackoffDelays;
  /** Every record that will never arrive is reported once. */
  readonly onDropped?: (reason: DropReason, count: number) => void;
  /** Hears of every failed attempt, for a log line. */
  readonly onFailure?: (error: unknown) => void;
}

/** Bounds of one publish, well below what every adapter takes at once. */
const MAX_BATCH = { records: 500, bytes: 1024 * 1024 };
const ONE_RECORD = { records: 1, bytes: Infinity };
const DEFAULT_CLOSE_DEADLINE_MS = 5_000;

/**
 * Takes records at any time without waiting and sends them in order, through a bounded buffer that outlasts an absent bus.
 *
 * Sequences count per (topic, key), because consumers share partitions: the first such stream is stamped with `source`,
 * the n-th with `source#n`. What is dropped leaves a gap that DROPPED_HEADER of the stream's next record reports.
 */
export class BufferedPublisher {
  readonly #options: BufferedPublisherOptions;
  readonly #epoch: string;
  readonly #backoff: BackoffDelays;
  readonly #queue: SendQueue;
  readonly #streams = new Map<string, Stream>();
  readonly #abort = new AbortController();
  /** The running send loop; null when there is nothing to do. */
  #sending: Promise<void> | null = null;
  /** How many records at the head go one by one, because the bus refused a batch with them for good. */
  #singly = 0;
  #closing: Promise<void> | null = null;

  constructor(options: BufferedPublisherOptions) {
    this.#options = options;
    this.#epoch = options.epoch ?? drawEpoch(options.clock, options.random);
    this.#backoff = options.backoff ?? { ...DEFAULT_BACKOFF, initialMs: 200, maxMs: 10_000 };
    this.#queue = new SendQueue({
      maxRecords: atLeastOne("maxRecords", options.maxRecords ?? 10_000),
      maxBytes: atLeastOne("maxBytes", options.maxBytes ?? 16 * 1024 * 1024),
      onDropped: (reason, count) => this.#options.onDropped?.(reason, count),
    });
    // A bad source or epoch is to fail here, not with the first record.
    encodeHeaders({ source: options.source, epoch: this.#epoch, sequence: 0, sentAtMs: 0 });
  }

  /** Records that wait or are under way. */
  get pending(): number {
    return this.#queue.size;
  }

  /** Takes a record. Never throws and never waits; the value must not be changed afterwards. */
  offer(topic: string, key: string, value: Uint8Array): void {
    const accepted = this.#queue.push({ topic, key, value, stream: this.#streamOf(topic, key) });
    if (accepted) this.#sending ??= this.#send();
  }

  /** Resolves when everything offered before is sent or given up; rejects with the signal's reason when aborted. */
  async flush(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await this.#queue.settled(signal);
  }

  /** Takes nothing more, sends what it can within the deadline, and gives up (and reports) the rest. */
  async close(deadlineMs = DEFAULT_CLOSE_DEADLINE_MS): Promise<void> {
    this.#closing ??= this.#shutDown(deadlineMs);
    await this.#closing;
  }

  async #shutDown(deadlineMs: number): Promise<void> {
    this.#queue.refuseMore();
    if (deadlineMs > 0) {
      const flushed = new AbortController();
      const deadline = pause(this.#options.clock, deadlineMs, flushed.signal);
      await Promise.race([this.#queue.settled(), deadline]);
      flushed.abort();
    }
    this.#abort.abort(new BusError("closed", `publisher ${this.#options.source} is closed`));
    await this.#sending;
    this.#queue.dropAll("closed");
  }

  /** Never rejects. Begins a microtask later, so that what is offered together goes together. */
  async #send(): Promise<void> {
    await Promise.resolve();
    for (let attempt = 0; this.#queue.size > 0 && !this.#abort.signal.aborted;) {
      const batch = this.#queue.take(this.#singly > 0 ? ONE_RECORD : MAX_BATCH);
      const failure = await this.#attempt(batch);
      attempt = failure === null ? 0 : attempt + 1;
      if (failure !== null) await this.#pause(failure, attempt);
    }
    this.#sending = null;
  }

  /** The error when the same batch is to be sent again, else null. */
  async #attempt(batch: readonly QueuedRecord[]): Promise<unknown> {
    const topic = batch[0]?.topic ?? "";
    try {
      await this.#publish(topic, batch);
      this.#settle("sent");
      return null;
    } catch (error) {
      this.#options.onFailure?.(error);
      if (this.#abort.signal.aborted || isRetryable(error)) return error ?? new Error("publish failed");
      // One bad record must not cost the others of its batch.
      if (batch.length > 1) this.#singly = this.#queue.putBack();
      else this.#settle("rejected");
      return null;
    }
  }

  #settle(outcome: "sent" | "rejected"): void {
    this.#queue.taken(outcome);
    this.#singly = Math.max(0, this.#singly - 1);
  }

  /** Adapters need not honour the signal at once: a close does not wait for one that hangs. */
  async #publish(topic: string, batch: readonly QueuedRecord[]): Promise<void> {
    const { signal } = this.#abort;
    const records = batch.map((record) => this.#stamp(record));
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await Promise.race([this.#options.publisher.publish(topic, records, { signal }), aborted]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Sent-at is the time of this attempt: what the buffer held back would look like a slow clock otherwise. */
  #stamp({ key, value, stream, sequence }: QueuedRecord): OutgoingRecord {
    const identity = {
      source: stream.source,
      epoch: this.#epoch,
      sequence,
      sentAtMs: this.#options.clock.now(),
    };
    const headers = encodeHeaders(identity);
    if (stream.dropped > 0) headers[DROPPED_HEADER] = String(stream.dropped);
    return { key, value, headers };
  }

  async #pause(error: unknown, attempt: number): Promise<void> {
    const askedMs = error instanceof BusError ? (error.retryAfterMs ?? 0) : 0;
    const ms = Math.max(askedMs, delayMs(this.#backoff, attempt, this.#options.random));
    await pause(this.#options.clock, ms, this.#abort.signal);
  }

  #streamOf(topic: string, key: string): Stream {
    const id = `${topic}\n${key}`;
    const known = this.#streams.get(id);
    if (known) return known;
    const { source } = this.#options;
    const nth = this.#streams.size + 1;
    const stream = { source: nth === 1 ? source : `${source}#${nth}`, nextSequence: 0, dropped: 0 };
    this.#streams.set(id, stream);
    return stream;
  }
}

function isRetryable(error: unknown): boolean {
  return error instanceof Error && "retryable" in error && error.retryable === true;
}

/** 53 random bits after the time: no two lives of one source are alike. */
function drawEpoch(clock: Clock, random: Random): string {
  const bits = Math.floor(random.next() * 2 ** 53);
  return `${Math.floor(clock.now()).toString(36)}-${bits.toString(36)}`;
}

function atLeastOne(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new BusError(
    "invalid_option",
    `${name} of a buffered publisher must be a whole number of at least 1, got ${value}`,
  );
}
