import { setImmediate as nextTurn } from "node:timers/promises";

import { pause, type Clock, type Logger } from "@isochrone/runtime";
import type { Batch, BusRecord, ReadFrom } from "../../ports/port.ts";
import type { Bounds, PartitionLog } from "./partition-log.ts";

export interface ReaderDeps {
  readonly clock: Clock;
  readonly logger: Logger | undefined;
  /** Pause before redelivery of a batch whose handler threw. */
  readonly redeliveryDelayMs: number;
  readonly onProgress: (log: PartitionLog) => void;
}

interface PartitionReaderOptions {
  readonly from: ReadFrom;
  readonly batch: Bounds;
  readonly onBatch: (batch: Batch) => Promise<void>;
  readonly onIdle: () => void;
  readonly deps: ReaderDeps;
}

/** Delivers a partition to a subscriber, one batch at a time, and again after a throw. */
export class PartitionReader {
  readonly #log: PartitionLog;
  readonly #options: PartitionReaderOptions;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  #wake: () => void = () => undefined;
  #next: number;

  constructor(log: PartitionLog, options: PartitionReaderOptions) {
    this.#log = log;
    this.#options = options;
    this.#next = firstOffset(log, options.from);
    this.#done = this.#run();
  }

  get next(): number {
    return this.#next;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await this.#done;
  }

  async #run(): Promise<void> {
    const stopListening = this.#log.onAppend(() => this.#wake());
    try {
      // The subscriber is not fully constructed before.
      await Promise.resolve();
      while (!this.#stop.signal.aborted) await this.#deliverNext();
    } finally {
      stopListening();
    }
  }

  async #deliverNext(): Promise<void> {
    const { batch, onBatch, deps } = this.#options;
    const records = this.#log.read(this.#next, batch);
    const first = records[0];
    if (!first) return await this.#somethingNew();
    if (first.offset > this.#next) this.#reportSkipped(first.offset - this.#next);
    this.#next = first.offset;
    try {
      await onBatch(this.#batchOf(records));
      this.#next = first.offset + records.length;
      deps.onProgress(this.#log);
    } catch (error) {
      await this.#pauseAfter(error, first);
    }
    // Yields to the event loop between batches, so that a long backlog doesn't starve timers and sockets.
    await nextTurn();
  }

  #batchOf(records: readonly BusRecord[]): Batch {
    const { topic, partition } = this.#log;
    return { topic, partition, records, endOffset: this.#log.end };
  }

  async #pauseAfter(error: unknown, { topic, partition, offset }: BusRecord): Promise<void> {
    const { clock, logger, redeliveryDelayMs } = this.#options.deps;
    logger?.warnOnce(`bus:${topic}`, "bus handler failed, batch comes again", {
      topic,
      partition,
      offset,
      error,
    });
    await pause(clock, redeliveryDelayMs, this.#stop.signal);
  }

  #reportSkipped(count: number): void {
    const { topic } = this.#log;
    this.#options.deps.logger?.warn("bus records expired before they were read", { topic, count });
  }

  async #somethingNew(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (this.#stop.signal.aborted || this.#next < this.#log.end) resolve();
    else this.#options.onIdle();
    await promise;
  }
}

function firstOffset(log: PartitionLog, from: ReadFrom): number {
  if (from === "earliest") return log.start;
  return from === "latest" ? log.end : log.offsetSince(from.sinceMs);
}
