import { isIP } from "node:net";

import { ConnectionPool, listOffsetsV7, metadataV12, protocolErrorsCodesById } from "@platformatic/kafka";
import type { BaseOptions, Broker, Connection } from "@platformatic/kafka";

import type { TopicPartition } from "../../../ports/port.ts";
import type { PartitionOffset } from "../client/client.ts";
import type { BusError } from "../../../ports/errors.ts";
import { brokerError, kafkaError } from "../client/kafka-errors.ts";
import { parseBroker, tlsOptions } from "../client/options.ts";
import type { KafkaClientOptions } from "../client/options.ts";
import { byTopic } from "../client/records.ts";
import { TopicCache } from "../client/topic-cache.ts";
import { brokerErrorName, mapError, responseIn } from "./errors.ts";

interface TopicMetadata {
  readonly id: string;
  /** Leader node by partition number; NO_LEADER if there is none. */
  readonly leaders: readonly number[];
  /** Replicas of the partition that has the fewest. */
  readonly replicas: number;
}

/** Kafka's special timestamp for the oldest record. */
export const EARLIEST = -2n;
export const NO_LEADER = -1;

export class Cluster {
  readonly #options: KafkaClientOptions;
  readonly #requests: ConnectionPool;
  /** Fetches block at the broker, so they have their own connections. */
  readonly #fetches: ConnectionPool;
  /** Separate connections, because acknowledgements may be slow and would delay other requests. */
  readonly #produces: ConnectionPool;
  #brokers = new Map<number, Broker>();
  readonly #topics: TopicCache<TopicMetadata>;
  /** Index of the first broker to ask. Advances after each failure, since a broker may hang. */
  #turn = 0;

  constructor(options: KafkaClientOptions) {
    this.#options = options;
    this.#topics = new TopicCache(options, (topic) => this.#learn(topic));
    this.#requests = newPool(options);
    this.#fetches = newPool(options);
    this.#produces = newPool(options);
  }

  async topic(topic: string, maxAgeMs?: number): Promise<TopicMetadata> {
    return await this.#topics.get(topic, maxAgeMs);
  }

  async brokerCount(): Promise<number> {
    try {
      return (await this.#askFor([])).brokers.length;
    } catch (error) {
      throw this.#failed(error, "asking for the brokers");
    }
  }

  async connection(broker: Broker): Promise<Connection> {
    return await this.#requests.get(broker);
  }

  async fetchConnection(nodeId: number): Promise<Connection> {
    return await this.#fetches.get(this.#brokerOf(nodeId));
  }

  async produceConnection(nodeId: number): Promise<Connection> {
    return await this.#produces.get(this.#brokerOf(nodeId));
  }

  /** Tries bootstrap brokers, which may be gone or mere proxies, and all known ones. */
  async anyBroker(): Promise<Connection> {
    const brokers = [...this.#options.brokers.map(parseBroker), ...this.#brokers.values()];
    const turn = this.#turn % brokers.length;
    return await this.#requests.getFirstAvailable([...brokers.slice(turn), ...brokers.slice(0, turn)]);
  }

  /** Asks the leaders for offsets at a time (Unix milliseconds) or EARLIEST. */
  async offsets(partitions: readonly TopicPartition[], at: bigint): Promise<PartitionOffset[]> {
    try {
      const byLeader = new Map<number, TopicPartition[]>();
      for (const partition of partitions) {
        const leader = await this.leaderOf(partition);
        byLeader.set(leader, [...(byLeader.get(leader) ?? []), partition]);
      }
      const found = await Promise.all(
        [...byLeader].map(([leader, wanted]) => this.#offsetsOf(leader, wanted, at)),
      );
      return found.flat();
    } catch (error) {
      for (const { topic } of partitions) this.forget(topic);
      throw mapError(error, "asking for offsets");
    }
  }

  async leaderOf({ topic, partition }: TopicPartition): Promise<number> {
    const { leaders } = await this.topic(topic);
    const leader = leaders[partition] ?? NO_LEADER;
    if (leader !== NO_LEADER) return leader;
    this.forget(topic);
    throw kafkaError("unavailable", `${topic}/${partition} has no leader at present`);
  }

  forget(topic: string): void {
    this.#topics.forget(topic);
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.#requests.close(), this.#fetches.close(), this.#produces.close()]);
  }

  async #learn(topic: string): Promise<TopicMetadata> {
    const doing = `asking for the partitions of ${topic}`;
    try {
      const answer = await this.#askFor([topic]);
      this.#brokers = new Map(answer.brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }]));
      const found = answer.topics[0];
      if (found?.errorCode !== 0) {
        const name = protocolErrorsCodesById[found?.errorCode ?? -1] ?? "nothing";
        throw brokerError(name, doing, undefined);
      }
      const partitions = found.partitions.toSorted((a, b) => a.partitionIndex - b.partitionIndex);
      return {
        id: found.topicId,
        leaders: partitions.map(({ leaderId }) => leaderId),
        replicas: Math.min(...partitions.map(({ replicaNodes }) => replicaNodes.length)),
      };
    } catch (error) {
      throw this.#failed(error, doing);
    }
  }

  /** The library throws if a partition has no leader; its answer is still valid. */
  async #askFor(topics: string[]): Promise<metadataV12.MetadataResponse> {
    const connection = await this.anyBroker();
    try {
      return await metadataV12.api.async(connection, topics, false, false);
    } catch (error) {
      const response = responseIn(error) as metadataV12.MetadataResponse | null;
      if (response === null) throw error;
      return response;
    }
  }

  async #offsetsOf(
    leader: number,
    partitions: readonly TopicPartition[],
    timestamp: bigint,
  ): Promise<PartitionOffset[]> {
    const topics = byTopic(partitions, ({ partition }) => ({
      partitionIndex: partition,
      currentLeaderEpoch: -1,
      timestamp,
    })).map(({ topic, partitions: wanted }) => ({ name: topic, partitions: wanted }));
    const connection = await this.connection(this.#brokerOf(leader));
    const answer = await listOffsetsV7.api.async(connection, -1, 0, topics);
    return answer.topics.flatMap(({ name, partitions }) =>
      partitions.map(({ partitionIndex, offset }) => ({
        topic: name,
        partition: partitionIndex,
        offset: Number(offset),
      })),
    );
  }

  #brokerOf(nodeId: number): Broker {
    const broker = this.#brokers.get(nodeId);
    if (broker) return broker;
    throw kafkaError("unavailable", `broker ${nodeId} is not known at present`);
  }

  #failed(error: unknown, doing: string): BusError {
    if (brokerErrorName(error) === null) this.#turn += 1;
    return mapError(error, doing);
  }
}

/** Handles socket errors, which would otherwise crash the process. */
function newPool(options: KafkaClientOptions): ConnectionPool {
  const pool = new ConnectionPool(options.clientId, libraryOptions(options));
  pool.on("connecting", ({ connection }) => connection.on("error", () => undefined));
  return pool;
}

/** Converts the options for the library. The bus does the backoff, unless the library must. */
export function libraryOptions(options: KafkaClientOptions): BaseOptions {
  const { clientId, brokers, tls, sasl } = options;
  return {
    clientId,
    bootstrapBrokers: [...brokers],
    connectTimeout: options.connectTimeoutMs,
    requestTimeout: options.requestTimeoutMs,
    timeout: options.requestTimeoutMs,
    metadataMaxAge: options.metadataMaxAgeMs,
    retries: 0,
    autocreateTopics: false,
    // Node.js refuses IP addresses as server names.
    ...(tls
      ? {
          tls: tlsOptions(tls),
          tlsServerName: brokers.every((broker) => isIP(parseBroker(broker).host) === 0),
        }
      : {}),
    ...(sasl
      ? {
          sasl: {
            mechanism: SASL[sasl.mechanism],
            username: sasl.username,
            password: () => sasl.password.reveal(),
          },
        }
      : {}),
  };
}

const SASL = {
  plain: "PLAIN",
  "scram-sha-256": "SCRAM-SHA-256",
  "scram-sha-512": "SCRAM-SHA-512",
} as const;
