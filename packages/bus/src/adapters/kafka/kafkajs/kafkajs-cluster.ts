import type { TopicPartition } from "../../../ports/port.ts";
import { kafkaError, isRefusal } from "../client/kafka-errors.ts";
import { brokerErrorName, kafkajsError } from "./kafkajs-errors.ts";
import { createErrorFromCode } from "./kafkajs-library.ts";
import { Link } from "./kafkajs-wire.ts";
import type { Call } from "./kafkajs-wire.ts";
import type { KafkaClientOptions } from "../client/options.ts";
import { TopicCache } from "../client/topic-cache.ts";

interface PartitionMetadata {
  readonly partitionId: number;
  readonly leader: number;
  readonly replicas: readonly number[];
}

interface MetadataAnswer {
  readonly brokers: readonly { readonly nodeId: number; readonly host: string; readonly port: number }[];
  readonly topicMetadata: readonly {
    readonly topic: string;
    readonly topicErrorCode: number;
    readonly partitionMetadata: readonly PartitionMetadata[];
  }[];
}

type TopicMetadata = ReadonlyMap<number, PartitionMetadata>;

/** Kafka's special timestamp for the oldest record. */
export const EARLIEST = "-2";

/** Brokers and partition leaders of a cluster. Rejects with kafkajs errors unless stated otherwise. */
export class KafkajsCluster {
  readonly #options: KafkaClientOptions;
  readonly #links = new Map<string, Link>();
  readonly #topics: TopicCache<TopicMetadata>;
  #nodes = new Map<number, string>();

  constructor(options: KafkaClientOptions) {
    this.#options = options;
    this.#topics = new TopicCache(options, (topic) => this.#ask(topic));
  }

  async call(nodeId: number, call: Call): Promise<unknown> {
    if (!this.#nodes.has(nodeId)) await this.#metadata([]);
    const address = this.#nodes.get(nodeId);
    if (address === undefined) throw kafkaError("unavailable", `broker ${nodeId} is not in the cluster`);
    return await this.#link(address).call(call);
  }

  /** Calls any broker, connected ones first. */
  async callAny(call: Call): Promise<unknown> {
    let failure: unknown = null;
    for (const link of this.#candidates()) {
      try {
        return await link.call(call);
      } catch (error) {
        if (isAnswer(error)) throw error;
        // Prefer reporting a configuration error over an unreachable broker.
        if (failure === null || isRefusal(kafkajsError(error, ""))) failure = error;
      }
    }
    throw failure;
  }

  async partitionsOf(topic: string): Promise<TopicMetadata> {
    return await this.#topics.get(topic);
  }

  /** Offset of the first record at a time (Unix milliseconds) or EARLIEST. */
  async offsetAt({ topic, partition }: TopicPartition, timestamp: string): Promise<number> {
    const leader = await this.leaderOf({ topic, partition });
    const args = {
      replicaId: -1,
      isolationLevel: 0,
      topics: [{ topic, partitions: [{ partition, timestamp }] }],
    };
    const { responses } = (await this.call(leader, { api: "ListOffsets", args })) as {
      readonly responses: readonly { readonly partitions: readonly { readonly offset: string }[] }[];
    };
    return Number(responses[0]?.partitions[0]?.offset ?? 0);
  }

  async leaderOf({ topic, partition }: TopicPartition): Promise<number> {
    const metadata = (await this.partitionsOf(topic)).get(partition);
    if (metadata === undefined) throw kafkaError("unknown_topic", `${topic} has no partition ${partition}`);
    if (metadata.leader >= 0) return metadata.leader;
    this.forget(topic);
    throw kafkaError("unavailable", `${topic}/${partition} has no leader`);
  }

  /** Invalidates the topic's metadata. */
  forget(topic: string): void {
    this.#topics.forget(topic);
  }

  async brokerCount(): Promise<number> {
    await this.#metadata([]);
    return this.#nodes.size;
  }

  close(): void {
    for (const link of this.#links.values()) link.close();
  }

  async #ask(topic: string): Promise<TopicMetadata> {
    const { topicMetadata } = await this.#metadata([topic]);
    const found = topicMetadata.find((each) => each.topic === topic);
    if (found === undefined) throw kafkaError("unavailable", `no broker knows anything of ${topic}`);
    if (found.topicErrorCode !== 0) throw createErrorFromCode(found.topicErrorCode);
    return new Map(found.partitionMetadata.map((each) => [each.partitionId, each]));
  }

  async #metadata(topics: readonly string[]): Promise<MetadataAnswer> {
    // An empty list would ask for all topics. An impossible name returns only the brokers.
    const args = { topics: topics.length > 0 ? topics : [" "], allowAutoTopicCreation: false };
    const answer = (await this.callAny({ api: "Metadata", args, raw: true })) as MetadataAnswer;
    this.#nodes = new Map(answer.brokers.map((broker) => [broker.nodeId, addressOf(broker)]));
    const used = new Set([...this.#nodes.values(), ...this.#options.brokers]);
    for (const [key, link] of this.#links) {
      if (used.has(link.address)) continue;
      link.close();
      this.#links.delete(key);
    }
    return answer;
  }

  #candidates(): Link[] {
    const addresses = new Set([...this.#nodes.values(), ...this.#options.brokers]);
    const rank = (link: Link): number => (link.isConnected ? 0 : 1 + link.pauseMs);
    return [...addresses].map((address) => this.#link(address)).toSorted((a, b) => rank(a) - rank(b));
  }

  #link(address: string): Link {
    const known = this.#links.get(address);
    if (known) return known;
    const link = new Link(address, this.#options);
    this.#links.set(address, link);
    return link;
  }
}

/** Returns true for a broker's answer; every broker would answer the same. */
function isAnswer(error: unknown): boolean {
  return (
    brokerErrorName(error) !== null || (error instanceof Error && error.name === "KafkaJSAggregateError")
  );
}

function addressOf({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
