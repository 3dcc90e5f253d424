import { setImmediate as nextTurn } from "node:timers/promises";

import { pause } from "@isochrone/runtime";
import type { Clock, Logger } from "@isochrone/runtime";

import { reasonOf } from "@isochrone/primitives";
import type { Batch, BusRecord, TopicPartition } from "../../ports/port.ts";
import type { Fetched, FetchedRecord, PackedBatch, Position } from "./client/client.ts";
import { unpackBatch } from "./client/record-batches.ts";
import { sizeOf, toBus } from "./client/records.ts";

export interface BatchBounds {
  readonly records: number;
  readonly bytes: number;
}

interface ReaderOptions {
  readonly partition: TopicPartition;
  readonly bounds: BatchBounds;
  readonly onBatch: (batch: Batch) => Promise<void>;
  readonly onUnreadable: (batch: PackedBatch, reason: string) => void;
  readonly onTaken: () => void;
  /** Called once, when all records up to the partition's end were handled. */
  readonly onCaughtUp: () => void;
  readonly clock: Clock;
  readonly logger: Logger | undefined;
  /** Pause before redelivery of a batch whose handler threw. */
  readonly redeliveryDelayMs: number;
}

/** Delivers one batch at a time. Buffered batches stay packed: unpacked they may be fifty times larger. */
export class PartitionReader {
  readonly #options: ReaderOptions;
  readonly #stop = new AbortController();
  readonly #begun = Promise.withResolvers<void>();
  readonly #done: Promise<void>;
  #wake: () => void = () => undefined;
  #packed: PackedBatch[] = [];
  /** Records of the batch before #packed. */
  #records: readonly FetchedRecord[] = [];
  /** Index in #records of the next record. */
  #head = 0;
  #bufferedBytes = 0;
  #endOffset: number | null = null;
  #fetchedOffset = 0;
  #isIdle = false;
  #isCaughtUp = false;
  /** Set by the subscription while fetching is paused. */
  paused = false;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#done = this.#run();
  }

  get partition(): TopicPartition {
    return this.#options.partition;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  /** Fill level of the buffer; 1 or more: stop fetching. */
  get fill(): number {
    return this.#bufferedBytes / this.#options.bounds.bytes;
  }

  /** True once all records up to the partition's end were handled. */
  get isCaughtUp(): boolean {
    return this.#isCaughtUp;
  }

  begin({ nextOffset, endOffset }: Position): void {
    this.#endOffset = endOffset;
    this.#fetchedOffset = nextOffset;
    this.#begun.resolve();
  }

  put({ batches, nextOffset, endOffset }: Fetched): void {
    this.#endOffset = endOffset ?? this.#endOffset;
    this.#fetchedOffset = nextOffset;
    const first = batches[0];
    if (first === undefined && this.#isIdle) this.#noteCaughtUp();
    if (first === undefined || this.signal.aborted) return;
    for (const batch of batches) {
      this.#packed.push(batch);
      this.#bufferedBytes += batch.bytes.byteLength;
    }
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#begun.resolve();
    this.#wake();
    this.#packed = [];
    this.#dropUnpacked();
    this.#bufferedBytes = 0;
    await this.#done;
  }

  async #run(): Promise<void> {
    await this.#begun.promise;
    while (!this.signal.aborted) {
      const records = this.#take();
      if (records.length === 0) await this.#somethingNew();
      else await this.#deliver(records);
    }
  }

  async #deliver(records: readonly BusRecord[]): Promise<void> {
    for (let isDone = false; !isDone && !this.signal.aborted;) {
      try {
        await this.#options.onBatch(this.#batchOf(records));
        isDone = true;
      } catch (error) {
        await this.#afterFailure(error, records);
      }
      // Yields to the event loop between batches, so that a long backlog doesn't starve timers and sockets.
      await nextTurn();
    }
  }

  #take(): BusRecord[] {
    const { bounds, partition, onTaken } = this.#options;
    const taken: BusRecord[] = [];
    const before = this.#bufferedBytes;
    let bytes = 0;
    while (taken.length < bounds.records) {
      const next = this.#next();
      if (next === undefined) break;
      const size = sizeOf(next);
      if (taken.length > 0 && bytes + size > bounds.bytes) break;
      bytes += size;
      this.#bufferedBytes -= size;
      this.#head += 1;
      taken.push(toBus(partition, next));
    }
    if (this.#head === this.#records.length) this.#dropUnpacked();
    if (this.#bufferedBytes !== before) onTaken();
    return taken;
  }

  #next(): FetchedRecord | undefined {
    while (this.#head === this.#records.length) {
      const batch = this.#packed.shift();
      this.#dropUnpacked();
      if (batch === undefined) return undefined;
      this.#records = this.#unpacked(batch);
      this.#bufferedBytes -= batch.bytes.byteLength;
      for (const record of this.#records) this.#bufferedBytes += sizeOf(record);
    }
    return this.#records[this.#head];
  }

  #dropUnpacked(): void {
    this.#records = [];
    this.#head = 0;
  }

  #unpacked(batch: PackedBatch): readonly FetchedRecord[] {
    try {
      return unpackBatch(batch);
    } catch (error) {
      this.#options.onUnreadable(batch, reasonOf(error));
      return [];
    }
  }

  #batchOf(records: readonly BusRecord[]): Batch {
    const { topic, partition } = this.partition;
    const end = (records.at(-1)?.offset ?? 0) + 1;
    return {
      topic,
      partition,
      records,
      endOffset: this.#endOffset === null ? null : Math.max(this.#endOffset, end),
    };
  }

  async #afterFailure(error: unknown, records: readonly BusRecord[]): Promise<void> {
    const { logger, clock, redeliveryDelayMs, partition } = this.#options;
    logger?.warnOnce(`bus:${partition.topic}`, "bus handler failed, batch comes again", {
      ...partition,
      offset: records[0]?.offset,
      error,
    });
    await pause(clock, redeliveryDelayMs, this.signal);
  }

  #noteCaughtUp(): void {
    if (this.#isCaughtUp || this.#endOffset === null || this.#fetchedOffset < this.#endOffset) return;
    this.#isCaughtUp = true;
    this.#options.onCaughtUp();
  }

  async #somethingNew(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (this.signal.aborted || this.#packed.length > 0) resolve();
    else this.#noteCaughtUp();
    this.#isIdle = true;
    await promise;
    this.#isIdle = false;
  }
}
