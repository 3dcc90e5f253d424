import { pause } from "@isochrone/runtime";

import type { BusError } from "../../../ports/errors.ts";
import type { TopicPartition } from "../../../ports/port.ts";
import type { KafkaReader, PartitionOffset, Position, ReadOptions } from "./client.ts";
import { Fetcher, type FetchRequests } from "./fetcher.ts";
import { isSerious, kafkaError } from "./kafka-errors.ts";
import type { KafkaClientOptions } from "./options.ts";
import { partitionKey } from "./records.ts";
import { retryDelayMs } from "./retry-delay.ts";

/** Kafka's special timestamps for the oldest record and the end. */
const EARLIEST = -2;
const LATEST = -1;
/** Kafka's offset answer if no record is as new as the timestamp. */
const NO_OFFSET = -1;

/** All reject with the library's errors. */
export interface ReadRequests extends FetchRequests {
  partitionCount(topic: string): Promise<number>;
  /** Offsets of partitions at a time, Unix milliseconds; NO_OFFSET if no record is as new. */
  offsets(partitions: readonly TopicPartition[], at: number): Promise<readonly PartitionOffset[]>;
}

/** Reads all partitions of some topics, including topics and partitions created later. */
export class TopicsReader implements KafkaReader {
  readonly #client: KafkaClientOptions;
  readonly #requests: ReadRequests;
  readonly #options: ReadOptions;
  readonly #fetcher: Fetcher;
  readonly #closing = new AbortController();
  readonly #counts = new Map<string, number>();
  /** End offsets of the initial partitions. Later partitions are read from their beginning. */
  readonly #ends = new Map<string, number>();
  #isJoined = false;

  constructor(client: KafkaClientOptions, requests: ReadRequests, options: ReadOptions) {
    this.#client = client;
    this.#requests = requests;
    this.#options = options;
    this.#fetcher = new Fetcher(client, requests, options.events);
    void this.#run();
  }

  async positions(partitions: readonly TopicPartition[]): Promise<readonly Position[]> {
    const { from } = this.#options;
    try {
      const at = typeof from === "string" ? EARLIEST : Math.max(0, Math.floor(from.sinceMs));
      const [firsts, ends] = await Promise.all([
        this.#offsets(partitions, at),
        this.#offsets(partitions, LATEST),
      ]);
      return partitions.map((each) => {
        const [first, endOffset] = [offsetIn(firsts, each), offsetIn(ends, each)];
        const begin = from === "latest" ? (this.#ends.get(partitionKey(each)) ?? first) : first;
        return { ...each, nextOffset: begin === NO_OFFSET ? endOffset : begin, endOffset };
      });
    } catch (error) {
      throw this.#failed(error, partitions, "asking for offsets");
    }
  }

  read(position: PartitionOffset): void {
    if (!this.#closing.signal.aborted) this.#fetcher.read(position);
  }

  pause(partition: TopicPartition): void {
    this.#fetcher.pause(partition);
  }

  resume(partition: TopicPartition): void {
    this.#fetcher.resume(partition);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#fetcher.close();
  }

  async #run(): Promise<void> {
    const { clock, metadataMaxAgeMs, retryMaxMs } = this.#client;
    const { signal } = this.#closing;
    for (let failures = 0; !signal.aborted;) {
      const errors = await this.#findPartitions();
      const failed = errors.filter(({ code }) => code !== "unknown_topic");
      failures = failed.length > 0 ? failures + 1 : 0;
      if (signal.aborted) return;
      for (const error of errors) this.#report(error, failures);
      if (failed.length === 0 && !this.#isJoined) {
        this.#isJoined = true;
        this.#options.events.onJoined();
      }
      const askedMs = Math.max(0, ...failed.map(({ retryAfterMs }) => retryAfterMs ?? 0));
      const againMs = errors.length > 0 ? retryMaxMs : metadataMaxAgeMs;
      const waitMs = failures > 0 ? Math.max(askedMs, retryDelayMs(this.#client, failures)) : againMs;
      await pause(clock, waitMs, signal);
    }
  }

  /** Reports new partitions. Returns errors by topic. */
  async #findPartitions(): Promise<BusError[]> {
    const errors: BusError[] = [];
    const found: TopicPartition[] = [];
    for (const topic of this.#options.topics) {
      const known = this.#counts.get(topic) ?? 0;
      try {
        const count = await this.#requests.partitionCount(topic);
        const more = Array.from({ length: Math.max(0, count - known) }, (_, i) => known + i);
        const partitions = more.map((partition) => ({ topic, partition }));
        await this.#noteEnds(partitions);
        found.push(...partitions);
        this.#counts.set(topic, Math.max(known, count));
      } catch (error) {
        errors.push(this.#failed(error, [{ topic, partition: 0 }], `subscribing to ${topic}`));
      }
    }
    if (found.length > 0 && !this.#closing.signal.aborted) this.#options.events.onFound(found);
    return errors;
  }

  async #noteEnds(partitions: readonly TopicPartition[]): Promise<void> {
    if (this.#options.from !== "latest" || this.#isJoined || partitions.length === 0) return;
    for (const [key, end] of await this.#offsets(partitions, LATEST)) this.#ends.set(key, end);
  }

  #report(error: BusError, failures: number): void {
    const doing = "asking for the partitions of topics";
    if (error.code === "unknown_topic" || isSerious(error, failures))
      this.#options.events.onProblem(doing, error);
  }

  /** Cached topic metadata may be the cause, so ask again. */
  #failed(cause: unknown, partitions: readonly TopicPartition[], doing: string): BusError {
    for (const { topic } of partitions) this.#requests.forget(topic);
    return this.#requests.errors.toBusError(cause, doing);
  }

  async #offsets(partitions: readonly TopicPartition[], at: number): Promise<ReadonlyMap<string, number>> {
    const offsets = await this.#requests.offsets(partitions, at);
    return new Map(offsets.map((each) => [partitionKey(each), each.offset]));
  }
}

function offsetIn(offsets: ReadonlyMap<string, number>, partition: TopicPartition): number {
  const key = partitionKey(partition);
  const offset = offsets.get(key);
  if (offset === undefined) throw kafkaError("unavailable", `no broker tells an offset of ${key}`);
  return offset;
}
