import { BusError } from "../../ports/errors.ts";
import type { SubscribeOptions, Subscription } from "../../ports/port.ts";
import type { Bounds, PartitionLog } from "./partition-log.ts";
import { PartitionReader, type ReaderDeps } from "./partition-reader.ts";

const DEFAULT_BATCH: Bounds = { records: 500, bytes: 4 * 1024 * 1024 };

export class Reader implements Subscription {
  readonly #options: SubscribeOptions;
  readonly #readers: ReadonlyMap<PartitionLog, PartitionReader>;
  readonly #onClosed: () => void;
  readonly #idle = new Set<PartitionLog>();
  #isCaughtUp = false;
  #closing: Promise<void> | null = null;

  constructor(
    options: SubscribeOptions,
    logs: readonly PartitionLog[],
    deps: ReaderDeps & { readonly onClosed: () => void },
  ) {
    const { topics, maxBatchRecords, maxBatchBytes } = options;
    if (topics.length === 0) throw new BusError("invalid_option", "topics to subscribe to must not be empty");
    this.#options = options;
    this.#onClosed = deps.onClosed;
    const batch = {
      records: positive(topics, "maxBatchRecords", maxBatchRecords ?? DEFAULT_BATCH.records),
      bytes: positive(topics, "maxBatchBytes", maxBatchBytes ?? DEFAULT_BATCH.bytes),
    };
    const readerOf = (log: PartitionLog): PartitionReader =>
      new PartitionReader(log, {
        from: options.from,
        batch,
        onBatch: (each) => options.onBatch(each),
        onIdle: () => this.#noteIdle(log),
        deps,
      });
    this.#readers = new Map(logs.map((log) => [log, readerOf(log)]));
    for (const [log, { next }] of this.#readers) if (next >= log.end) this.#noteIdle(log);
  }

  /** Offset up to which the partition was handled; null if it isn't read. */
  floor(log: PartitionLog): number | null {
    return this.#readers.get(log)?.next ?? null;
  }

  async close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    await this.#closing;
  }

  async #shutDown(): Promise<void> {
    this.#isCaughtUp = true;
    await Promise.all([...this.#readers.values()].map((reader) => reader.stop()));
    this.#onClosed();
  }

  #noteIdle(log: PartitionLog): void {
    this.#idle.add(log);
    if (this.#isCaughtUp || this.#idle.size < this.#readers.size) return;
    this.#isCaughtUp = true;
    this.#options.onCaughtUp?.();
  }
}

function positive(topics: readonly string[], name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new BusError(
    "invalid_option",
    `${name} of a subscription to ${topics.join(", ")} must be a whole number of at least 1, got ${value}`,
  );
}
