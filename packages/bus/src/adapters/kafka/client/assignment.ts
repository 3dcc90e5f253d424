import { pause } from "@isochrone/runtime";

import type { BusError } from "../../../ports/errors.ts";
import type { TopicPartition } from "../../../ports/port.ts";
import type { AssignOptions, KafkaMember, PartitionOffset, Position } from "./client.ts";
import { Fetcher, type FetchRequests } from "./fetcher.ts";
import { isSerious, kafkaError } from "./kafka-errors.ts";
import type { KafkaClientOptions } from "./options.ts";
import { partitionKey } from "./records.ts";
import { retryDelayMs } from "./retry-delay.ts";

/** Times that Kafka takes for "the oldest record" and "the end" when asked for an offset. */
const EARLIEST = -2;
const LATEST = -1;
/** The offset of a time that no record is as new as. */
const NO_OFFSET = -1;

/** What a library does for a reader without a group. All reject with what it throws. */
export interface ReadRequests extends FetchRequests {
  partitionCount(topic: string): Promise<number>;
  /** The offsets of partitions at a time, ms since the epoch; NO_OFFSET where no record is as new. */
  offsets(partitions: readonly TopicPartition[], at: number): Promise<readonly PartitionOffset[]>;
}

/** Reads every partition of some topics. Topics and partitions that are made later are read as well. */
export class Assignment implements KafkaMember {
  readonly #client: KafkaClientOptions;
  readonly #requests: ReadRequests;
  readonly #options: AssignOptions;
  readonly #fetcher: Fetcher;
  readonly #closing = new AbortController();
  /** Partitions that were found, by topic. */
  readonly #counts = new Map<string, number>();
  #joined = false;

  constructor(client: KafkaClientOptions, requests: ReadRequests, options: AssignOptions) {
    this.#client = client;
    this.#requests = requests;
    this.#options = options;
    this.#fetcher = new Fetcher(client, requests, options.events);
    void this.#run();
  }

  async positions(partitions: readonly TopicPartition[]): Promise<readonly Position[]> {
    const { sinceMs } = this.#options;
    try {
      const [starts, ends, since] = await Promise.all([
        this.#offsets(partitions, EARLIEST),
        this.#offsets(partitions, LATEST),
        sinceMs === null ? null : this.#offsets(partitions, Math.max(0, Math.floor(sinceMs))),
      ]);
      return partitions.map((each) => {
        const [startOffset, endOffset] = [offsetIn(starts, each), offsetIn(ends, each)];
        const found = since === null ? null : offsetIn(since, each);
        const sinceOffset = found === NO_OFFSET ? endOffset : found;
        return { ...each, committed: null, startOffset, endOffset, sinceOffset };
      });
    } catch (error) {
      for (const { topic } of partitions) this.#requests.forget(topic);
      throw this.#requests.errors.toBusError(error, "asking for offsets");
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

  async commit(): Promise<void> {
    // There is no group that could remember it.
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#fetcher.close();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { clock, metadataMaxAgeMs, retryMaxMs } = this.#client;
    for (let failures = 0; !this.#closing.signal.aborted;) {
      const errors = await this.#findPartitions();
      const failed = errors.filter(({ code }) => code !== "unknown_topic");
      failures = failed.length > 0 ? failures + 1 : 0;
      for (const error of errors) this.#report(error, failures);
      if (failed.length === 0 && !this.#joined && !this.#closing.signal.aborted) {
        this.#joined = true;
        this.#options.events.onJoined();
      }
      const askedMs = Math.max(0, ...failed.map(({ retryAfterMs }) => retryAfterMs ?? 0));
      const againMs = errors.length > 0 ? retryMaxMs : metadataMaxAgeMs;
      const waitMs = failures > 0 ? Math.max(askedMs, retryDelayMs(this.#client, failures)) : againMs;
      await pause(clock, waitMs, this.#closing.signal);
    }
  }

  /** Hands over partitions that are new. Returns what failed, by topic. */
  async #findPartitions(): Promise<BusError[]> {
    const errors: BusError[] = [];
    const found: TopicPartition[] = [];
    for (const topic of this.#options.topics) {
      const known = this.#counts.get(topic) ?? 0;
      try {
        const count = await this.#requests.partitionCount(topic);
        for (let partition = known; partition < count; partition += 1) found.push({ topic, partition });
        this.#counts.set(topic, Math.max(known, count));
      } catch (error) {
        this.#requests.forget(topic);
        errors.push(this.#requests.errors.toBusError(error, `subscribing to ${topic}`));
      }
    }
    if (found.length > 0 && !this.#closing.signal.aborted) void this.#options.events.onAssigned(found);
    return errors;
  }

  #report(error: BusError, failures: number): void {
    const doing = "asking for the partitions of topics";
    if (error.code === "unknown_topic" || isSerious(error, failures))
      this.#options.events.onProblem(doing, error);
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
