import type { TopicPartition } from "../../../ports/port.ts";
import type { KafkaMember, MemberOptions, PartitionOffset, Position } from "../client/client.ts";
import { Fetcher } from "../client/fetcher.ts";
import { kafkaError } from "../client/kafka-errors.ts";
import type { KafkaClientOptions } from "../client/options.ts";
import { partitionKey } from "../client/records.ts";
import { EARLIEST, LATEST } from "./cluster.ts";
import type { Cluster } from "./cluster.ts";
import { Membership } from "./membership.ts";
import { PlatformaticFetchRequests } from "./requests.ts";

/** A group's member: who owns what is its membership's business, how the records come that of its fetcher. */
export class PlatformaticMember implements KafkaMember {
  readonly #cluster: Cluster;
  readonly #fetcher: Fetcher;
  readonly #membership: Membership;

  constructor(cluster: Cluster, options: KafkaClientOptions, { group, topics, events }: MemberOptions) {
    this.#cluster = cluster;
    this.#fetcher = new Fetcher(options, new PlatformaticFetchRequests(options, cluster), events);
    this.#membership = new Membership({
      cluster,
      options,
      group,
      topics,
      events,
      onGone: (partitions) => this.#fetcher.drop(partitions),
    });
  }

  async positions(partitions: readonly TopicPartition[]): Promise<readonly Position[]> {
    const [committed, starts, ends] = await Promise.all([
      this.#membership.committed(partitions),
      this.#cluster.offsets(partitions, EARLIEST),
      this.#cluster.offsets(partitions, LATEST),
    ]);
    const endOf = new Map(ends.map((end) => [partitionKey(end), end.offset]));
    return starts.map((start) => {
      const key = partitionKey(start);
      const endOffset = endOf.get(key);
      if (endOffset === undefined)
        throw kafkaError("unavailable", `the end of ${key} is not known at present`);
      return {
        topic: start.topic,
        partition: start.partition,
        committed: committed.get(key) ?? null,
        startOffset: start.offset,
        endOffset,
        sinceOffset: null,
      };
    });
  }

  read(position: PartitionOffset): void {
    if (this.#membership.owns(position)) this.#fetcher.read(position);
  }

  pause(partition: TopicPartition): void {
    this.#fetcher.pause(partition);
  }

  resume(partition: TopicPartition): void {
    this.#fetcher.resume(partition);
  }

  async commit(offsets: readonly PartitionOffset[]): Promise<void> {
    await this.#membership.commit(offsets);
  }

  async close(): Promise<void> {
    await this.#membership.close();
    await this.#fetcher.close();
  }
}
