import { partitionOf, type Batch, type Bus, type BusRecord, type Subscription } from "@isochrone/bus";
import { DEFAULT_BACKOFF, retry, type Clock, type Logger, type Random } from "@isochrone/runtime";

/** What a log reader works with. */
interface LogReaderOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly topic: string;
  /** Unique among everybody who ever reads: nothing is committed, so all of the topic comes. */
  readonly group: string;
  /**
   * Whether one of those that may write here wrote the record; others count as if they weren't there.
   * @default all did
   */
  isOwn?(record: BusRecord): boolean;
  /** Each record once, in the order of its partition. Must not throw. */
  onRecord(record: BusRecord): void;
  /** How far behind a partition's end the reader is, in records, after each batch. */
  onLag?(partition: number, records: number): void;
}

const BARRIER_HEADER = "isochrone-barrier";
const BARRIER_VALUE = Buffer.from("barrier");
/** A barrier that doesn't come back within this time is sent again. */
const BARRIER_TIMEOUT_MS = 10_000;
const MAX_BATCH_RECORDS = 100;
const NEVER_GIVE_UP = { ...DEFAULT_BACKOFF, initialMs: 200, maxMs: 10_000 };

/**
 * Reads a whole topic, from its beginning and on. Where its end is no bus needs to know: what this reader
 * writes itself, once it has begun, comes after everything that was there.
 */
export class LogReader {
  readonly #options: LogReaderOptions;
  /**
   * First offset by partition that wasn't handled yet: a bus that lost its place begins anew, and nothing
   * must come twice.
   */
  readonly #positions = new Map<number, number>();
  /** Partitions whose barrier is still to come. */
  readonly #awaited = new Set<number>();
  #caughtUp = Promise.withResolvers<void>();
  #subscription: Subscription | null = null;

  constructor(options: LogReaderOptions) {
    this.#options = options;
  }

  /**
   * Resolves when everything has been read that was there at the call. Goes on for ever; rejects when
   * `signal` is aborted.
   */
  async readToEnd(signal: AbortSignal): Promise<void> {
    const { topic } = this.#options;
    const partitions = await this.partitionCount(topic, signal);
    for (let partition = 0; partition < partitions; partition++) this.#awaited.add(partition);
    this.#subscription = await this.#persist("subscribing", signal, () => this.#subscribe());
    const caughtUp = this.#caughtUp.promise.then(() => true);
    while (this.#awaited.size > 0) {
      await this.#persist("sending a barrier", signal, () => this.#sendBarriers(partitions, signal));
      const done = new AbortController();
      const timeout = this.#timeout(AbortSignal.any([signal, done.signal]));
      const isThere = await Promise.race([caughtUp, timeout]);
      done.abort();
      if (isThere) return;
    }
  }

  /** Of any topic; asks until the bus answers. Rejects when `signal` is aborted. */
  partitionCount(topic: string, signal: AbortSignal): Promise<number> {
    return this.#persist(`counting the partitions of ${topic} for the log`, signal, () =>
      this.#options.bus.partitionCount(topic),
    );
  }

  async close(): Promise<void> {
    await this.#subscription?.close();
  }

  async #timeout(signal: AbortSignal): Promise<boolean> {
    await this.#options.clock.sleep(BARRIER_TIMEOUT_MS, signal);
    return false;
  }

  #subscribe(): Promise<Subscription> {
    const { bus, topic, group } = this.#options;
    return bus.subscribe({
      topics: [topic],
      group,
      from: "earliest",
      maxBatchRecords: MAX_BATCH_RECORDS,
      onBatch: async (batch) => this.#take(batch),
    });
  }

  #take({ partition, records, endOffset }: Batch): void {
    for (const record of records) {
      if (record.offset < (this.#positions.get(partition) ?? 0)) continue;
      this.#positions.set(partition, record.offset + 1);
      if (this.#options.isOwn?.(record) === false) continue;
      const barrier = record.headers[BARRIER_HEADER];
      if (barrier === undefined) this.#options.onRecord(record);
      else if (barrier === this.#options.group) this.#pass(partition);
    }
    const next = this.#positions.get(partition) ?? 0;
    if (endOffset !== null) this.#options.onLag?.(partition, Math.max(0, endOffset - next));
  }

  #pass(partition: number): void {
    this.#awaited.delete(partition);
    if (this.#awaited.size === 0) this.#caughtUp.resolve();
  }

  async #sendBarriers(partitions: number, signal: AbortSignal): Promise<void> {
    const { bus, topic, group } = this.#options;
    const headers = { [BARRIER_HEADER]: group };
    const records = [...this.#awaited].map((partition) => ({
      key: keyOf(partition, partitions),
      value: BARRIER_VALUE,
      headers,
    }));
    await bus.publish(topic, records, { signal });
  }

  #persist<T>(what: string, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    const { clock, random, logger, topic } = this.#options;
    return retry({
      clock,
      random,
      // Also what "can't be helped", such as a topic that isn't there, may be helped by somebody.
      policy: NEVER_GIVE_UP,
      signal,
      run: async () => {
        try {
          return await run();
        } catch (error) {
          throw new Error(`${what} of ${topic} failed`, { cause: error });
        }
      },
      onRetry: (error, attempt, delayMs) =>
        logger.warnOnce(`log:${topic}:${what}`, "reading a log has to wait for the bus", {
          topic,
          error,
          attempt,
          delayMs,
        }),
    });
  }
}

/** The same for every reader, so that a compacted topic keeps one barrier per partition. */
function keyOf(partition: number, partitions: number): string {
  for (let i = 0; ; i++) {
    const key = `barrier-${i}`;
    if (partitionOf(key, partitions) === partition) return key;
  }
}
