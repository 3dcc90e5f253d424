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
  /**
   * What has waited for longer is dropped: as a rule, what no window has room for any more. Not the batch
   * under way, which may have arrived already. @default 300000
   */
  readonly maxAgeMs?: number;
  /**
   * After an outage the backlog goes out at this rate, beside as much as comes meanwhile; Infinity: as fast
   * as the bus takes it. Kept low where thousands of publishers lose one bus. @default 20
   */
  readonly catchUpRecordsPerSecond?: number;
  /** As catchUpRecordsPerSecond, in bytes as maxBytes counts them. @default 1 MiB */
  readonly catchUpBytesPerSecond?: number;
  /** The backlog begins to move after a random part of this, or of its age if that is less. @default 5000 */
  readonly catchUpSpreadMs?: number;
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
/** What waits for less is no backlog, even after a failure. */
const LIVE_MS = 1_000;
/** A publish that took longer was an outage too, which the bus' client has waited out itself. */
const STALL_MS = 5_000;
/** A record may stay for so long after its age, at most. */
const EXPIRY_CHECK_MS = 1_000;

/**
 * Takes records at any time without waiting and sends them in order, through a bounded buffer that outlasts
 * an absent bus.
 *
 * After an outage the backlog goes out at a bounded rate; what comes meanwhile waits behind it, so that the
 * order holds for every key.
 *
 * Sequences count per (topic, key), because consumers share partitions: the first such stream is stamped with
 * `source`, the n-th with `source#n`. What is dropped leaves a gap that DROPPED_HEADER of the stream's next
 * record reports.
 */
export class BufferedPublisher {
  readonly #options: BufferedPublisherOptions;
  readonly #epoch: string;
  readonly #backoff: BackoffDelays;
  readonly #queue: SendQueue;
  readonly #catchUp: CatchUp;
  readonly #streams = new Map<string, Stream>();
  readonly #abort = new AbortController();
  /** From here on nothing is kept back: the publisher closes. */
  readonly #hurry = new AbortController();
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
    // A bad source or epoch is to fail here, not with the first record.
    encodeHeaders({ source: options.source, epoch: this.#epoch, sequence: 0, sentAtMs: 0 });
  }

  /** Records that wait or are under way. */
  get pending(): number {
    return this.#queue.size;
  }

  /** Their values and 200 bytes each. */
  get pendingBytes(): number {
    return this.#queue.bytes;
  }

  /** How long the oldest of them has been waiting, ms; 0 without any. */
  get oldestAgeMs(): number {
    return this.#queue.oldestAgeMs;
  }

  /** Whether a backlog is kept back to its rate. */
  get isCatchingUp(): boolean {
    return this.#catchUp.isActive;
  }

  /** What has become of everything that was offered. */
  get counts(): RecordCounts {
    return this.#queue.counts;
  }

  /** Takes a record. Never throws and never waits; the value must not be changed afterwards. */
  offer(topic: string, key: string, value: Uint8Array): void {
    const span = isTracing() ? startMessageSpan(`send ${topic}`, attributesOf(topic, value)) : null;
    if (!this.#queue.push({ topic, key, value, stream: this.#streamOf(topic, key), span })) return;
    if (this.#catchUp.isActive) this.#catchUp.came(sizeOf({ value }), this.#options.clock.monotonic());
    this.#sending ??= this.#send();
  }

  /**
   * Resolves when everything offered before is sent or given up; rejects with the signal's reason when
   * aborted.
   */
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

  /** Never rejects. Begins a microtask later, so that what is offered together goes together. */
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

  /** A backlog's next batch waits for its time. What expires meanwhile is gone. */
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

  /** @param isBack the bus was away until now */
  #judgeBacklog(isBack: boolean): void {
    const ageMs = this.#queue.oldestWaitingAgeMs;
    const nowMs = this.#options.clock.monotonic();
    if (ageMs < LIVE_MS) this.#catchUp.end();
    else if (isBack && this.#catchUp.isActive) this.#catchUp.resume(nowMs);
    else if (isBack) this.#catchUp.begin(ageMs, nowMs);
  }

  /** The error when the same batch is to be sent again, else null. */
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

  /**
   * Sent-at is the time of this attempt: what the buffer held back would look like a slow clock otherwise.
   */
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

  /** Records expire in time, however long the pause; those that come meanwhile too. */
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

/** Names of OpenTelemetry's conventions for messaging. */
function attributesOf(topic: string, value: Uint8Array): Record<string, string | number> {
  return { "messaging.destination.name": topic, "messaging.message.body.size": value.byteLength };
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

function above0(name: string, value: number): number {
  // Infinity times no time would be no number.
  if (value > 0) return Math.min(value, Number.MAX_SAFE_INTEGER);
  throw new BusError("invalid_option", `${name} of a buffered publisher must be above 0, got ${value}`);
}
