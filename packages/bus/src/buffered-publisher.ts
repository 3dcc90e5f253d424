import { encodeHeaders } from "@isochrone/telemetry";
import { DEFAULT_BACKOFF, delayMs, pause } from "@isochrone/runtime";
import type { BackoffDelays, Clock, Random } from "@isochrone/runtime";
import { isTracing, startMessageSpan, TRACEPARENT_HEADER } from "@isochrone/runtime/tracing";

import { CatchUp } from "./buffered-publisher-catch-up.ts";
import { BusError } from "./ports/errors.ts";
import { DROPPED_HEADER } from "./ports/port.ts";
import type { OutgoingRecord, Publisher } from "./ports/port.ts";
import { SendQueue, sizeOf } from "./send-queue.ts";
import type { DropReason, QueuedRecord, RecordCounts, Stream } from "./send-queue.ts";

export interface BufferedPublisherOptions {
  readonly publisher: Publisher;
  readonly source: string;
  /** Identifies one run of the publisher. @default drawn from `clock` and `random` */
  readonly epoch?: string;
  readonly clock: Clock;
  readonly random: Random;
  /** @default 10000 */
  readonly maxRecords?: number;
  /** Values plus 200 bytes per record. @default 16 MiB */
  readonly maxBytes?: number;
  /** Older records are dropped. The batch in flight stays, since it may have arrived. @default 300000 */
  readonly maxAgeMs?: number;
  /** Rate of a backlog beyond new records; Infinity: unlimited. Low for many publishers. @default 20 */
  readonly catchUpRecordsPerSecond?: number;
  /** Like catchUpRecordsPerSecond, in bytes as maxBytes counts them. @default 1 MiB */
  readonly catchUpBytesPerSecond?: number;
  /** The backlog waits for a random part of this, or of its age if that is less. @default 5000 */
  readonly catchUpSpreadMs?: number;
  /** Retry delays while the bus is away. @default DEFAULT_BACKOFF from 200 ms to 10 s */
  readonly backoff?: BackoffDelays;
  /** Reports each lost record once. */
  readonly onDropped?: (reason: DropReason, count: number) => void;
  readonly onFailure?: (error: unknown) => void;
}

/** Limits per publish, well below those of every adapter. */
const MAX_BATCH = { records: 500, bytes: 1024 * 1024 };
const ONE_RECORD = { records: 1, bytes: Infinity };
const DEFAULT_CLOSE_DEADLINE_MS = 5_000;
/** Records that waited for less are no backlog, even after a failure. */
const LIVE_MS = 1_000;
/** A longer publish counts as an outage that the bus client waited out. */
const STALL_MS = 5_000;
/** Maximum time that a record stays beyond its maximum age. */
const EXPIRY_CHECK_MS = 1_000;

/**
 * Accepts records without waiting and sends them in order. A bounded buffer bridges outages of the bus.
 * After an outage, the backlog is sent at a bounded rate. New records wait behind it, which keeps the order
 * per key.
 * Sequences count per (topic, key), because consumers share partitions. The first stream has `source`, the
 * n-th `source#n`. DROPPED_HEADER of a stream's next record reports gaps from dropped records.
 */
export class BufferedPublisher {
  readonly #options: BufferedPublisherOptions;
  readonly #epoch: string;
  readonly #backoff: BackoffDelays;
  readonly #queue: SendQueue;
  readonly #catchUp: CatchUp;
  readonly #streams = new Map<string, Stream>();
  readonly #abort = new AbortController();
  readonly #hurry = new AbortController();
  #sending: Promise<void> | null = null;
  /** Records at the head to send one by one, because the bus refused a batch with them. */
  #singly = 0;
  #closing: Promise<void> | null = null;

  constructor(options: BufferedPublisherOptions) {
    this.#options = options;
    this.#epoch = options.epoch ?? drawEpoch(options.clock, options.random);
    this.#backoff = options.backoff ?? { ...DEFAULT_BACKOFF, initialMs: 200, maxMs: 10_000 };
    this.#queue = new SendQueue({
      maxRecords: atLeastOne("maxRecords", options.maxRecords ?? 10_000),
      maxBytes: atLeastOne("maxBytes", options.maxBytes ?? 16 * 1024 * 1024),
      maxAgeMs: atLeastOne("maxAgeMs", options.maxAgeMs ?? 300_000),
      nowMs: () => options.clock.monotonic(),
      onDropped: (reason, count) => this.#options.onDropped?.(reason, count),
    });
    this.#catchUp = new CatchUp(
      {
        recordsPerSecond: above0("catchUpRecordsPerSecond", options.catchUpRecordsPerSecond ?? 20),
        bytesPerSecond: above0("catchUpBytesPerSecond", options.catchUpBytesPerSecond ?? 1024 * 1024),
        spreadMs: options.catchUpSpreadMs ?? 5_000,
      },
      options.random,
    );
    // Validates source and epoch at once, not with the first record.
    encodeHeaders({ source: options.source, epoch: this.#epoch, sequence: 0, sentAtMs: 0 });
  }

  get pending(): number {
    return this.#queue.size;
  }

  /** Values plus 200 bytes per record. */
  get pendingBytes(): number {
    return this.#queue.bytes;
  }

  /** Age of the oldest pending record, ms; 0 without any. */
  get oldestAgeMs(): number {
    return this.#queue.oldestAgeMs;
  }

  get isCatchingUp(): boolean {
    return this.#catchUp.isActive;
  }

  get counts(): RecordCounts {
    return this.#queue.counts;
  }

  /** Queues a record. Never throws or waits. The value must not change afterwards. */
  offer(topic: string, key: string, value: Uint8Array): void {
    const span = isTracing() ? startMessageSpan(`send ${topic}`, attributesOf(topic, value)) : null;
    if (!this.#queue.push({ topic, key, value, stream: this.#streamOf(topic, key), span })) return;
    if (this.#catchUp.isActive) this.#catchUp.came(sizeOf({ value }), this.#options.clock.monotonic());
    this.#sending ??= this.#send();
  }

  /** Resolves when all earlier records are sent or dropped. Rejects with the abort reason. */
  async flush(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await this.#queue.settled(signal);
  }

  /** Stops accepting records, sends until the deadline, then drops and reports the rest. */
  async close(deadlineMs = DEFAULT_CLOSE_DEADLINE_MS): Promise<void> {
    this.#closing ??= this.#shutDown(deadlineMs);
    await this.#closing;
  }

  async #shutDown(deadlineMs: number): Promise<void> {
    this.#queue.refuseMore();
    this.#hurry.abort();
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

  /** Starts a microtask later, so that concurrent records share a batch. Never rejects. */
  async #send(): Promise<void> {
    await Promise.resolve();
    for (let attempt = 0; this.#queue.size > 0 && !this.#abort.signal.aborted;) {
      if (attempt === 0) await this.#keepPace();
      const batch = this.#queue.take(this.#bounds());
      if (batch.length === 0) continue;
      const beganMs = this.#options.clock.monotonic();
      const failure = await this.#attempt(batch);
      if (failure === null) {
        this.#judgeBacklog(attempt > 0 || this.#options.clock.monotonic() - beganMs > STALL_MS);
        attempt = 0;
      } else {
        attempt += 1;
        await this.#pauseAfter(failure, attempt);
      }
    }
    this.#sending = null;
    this.#catchUp.end();
  }

  /** Delays the backlog's next batch. Records may expire meanwhile. */
  async #keepPace(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#hurry;
    this.#queue.expire();
    while (this.#catchUp.isActive && !signal.aborted && this.#queue.waiting > 0) {
      const ms = this.#catchUp.waitMs(this.#queue.waiting, clock.monotonic());
      if (ms === 0) return;
      await this.#pause(ms, signal);
    }
  }

  #bounds(): { readonly records: number; readonly bytes: number } {
    if (this.#singly > 0) return ONE_RECORD;
    if (!this.#catchUp.isActive || this.#hurry.signal.aborted) return MAX_BATCH;
    const { records, bytes } = this.#catchUp.bounds();
    return { records: Math.min(records, MAX_BATCH.records), bytes: Math.min(bytes, MAX_BATCH.bytes) };
  }

  /** @param isBack the bus was unavailable until now */
  #judgeBacklog(isBack: boolean): void {
    const ageMs = this.#queue.oldestWaitingAgeMs;
    const nowMs = this.#options.clock.monotonic();
    if (ageMs < LIVE_MS) this.#catchUp.end();
    else if (isBack && this.#catchUp.isActive) this.#catchUp.resume(nowMs);
    else if (isBack) this.#catchUp.begin(ageMs, nowMs);
  }

  /** Returns an error if the batch must be sent again, else null. */
  async #attempt(batch: readonly QueuedRecord[]): Promise<unknown> {
    const topic = batch[0]?.topic ?? "";
    try {
      await this.#publish(topic, batch);
      if (this.#catchUp.isActive)
        this.#catchUp.sent(
          batch.length,
          batch.reduce((sum, record) => sum + sizeOf(record), 0),
        );
      this.#settle("sent");
      return null;
    } catch (error) {
      this.#options.onFailure?.(error);
      if (this.#abort.signal.aborted || isRetryable(error)) return error ?? new Error("publish failed");
      // One bad record must not fail the rest of its batch.
      if (batch.length > 1) this.#singly = this.#queue.putBack();
      else this.#settle("rejected");
      return null;
    }
  }

  #settle(outcome: "sent" | "rejected"): void {
    this.#queue.taken(outcome);
    this.#singly = Math.max(0, this.#singly - 1);
  }

  /** Adapters may ignore the abort signal for a while, but closing must not wait for them. */
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

  /** Stamps the time of this attempt. With the time of queueing, buffering would look like clock skew. */
  #stamp({ key, value, stream, sequence, span }: QueuedRecord): OutgoingRecord {
    const identity = {
      source: stream.source,
      epoch: this.#epoch,
      sequence,
      sentAtMs: this.#options.clock.now(),
    };
    const headers = encodeHeaders(identity);
    if (stream.dropped > 0) headers[DROPPED_HEADER] = String(stream.dropped);
    if (span !== null) headers[TRACEPARENT_HEADER] = span.traceparent;
    return { key, value, headers };
  }

  async #pauseAfter(error: unknown, attempt: number): Promise<void> {
    const askedMs = error instanceof BusError ? (error.retryAfterMs ?? 0) : 0;
    const ms = Math.max(askedMs, delayMs(this.#backoff, attempt, this.#options.random));
    await this.#pause(ms, this.#abort.signal);
  }

  /** Expires records during a long pause, including new ones. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.monotonic() + ms;
    for (let leftMs = ms; leftMs > 0 && !signal.aborted; leftMs = untilMs - clock.monotonic()) {
      await pause(clock, Math.min(leftMs, EXPIRY_CHECK_MS, Math.max(1, this.#queue.expiresInMs)), signal);
      this.#queue.expire();
    }
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

/** Attribute names of OpenTelemetry's messaging conventions. */
function attributesOf(topic: string, value: Uint8Array): Record<string, string | number> {
  return { "messaging.destination.name": topic, "messaging.message.body.size": value.byteLength };
}

function isRetryable(error: unknown): boolean {
  return error instanceof Error && "retryable" in error && error.retryable === true;
}

/** Time plus 53 random bits, unique per run of a source. */
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

function above0(name: string, value: number): number {
  if (value > 0) return Math.min(value, Number.MAX_SAFE_INTEGER);
  throw new BusError("invalid_option", `${name} of a buffered publisher must be above 0, got ${value}`);
}
