import { initProducerIdV4, protocolErrorsCodesById } from "@platformatic/kafka";

import type { TopicPartition } from "../../../ports/port.ts";
import type { PartitionOffset } from "../client/client.ts";
import type { ReadRequests } from "../client/topics-reader.ts";
import type { FetchedPartition } from "../client/fetcher.ts";
import type { ProducerId, ProduceRequest, ProduceRequests } from "../client/idempotent-producer.ts";
import { brokerError, kafkaError } from "../client/kafka-errors.ts";
import type { KafkaClientOptions } from "../client/options.ts";
import { packBatch } from "../client/pack-batch.ts";
import { byTopic, partitionKey } from "../client/records.ts";
import { EARLIEST } from "./cluster.ts";
import type { Cluster } from "./cluster.ts";
import { PLATFORMATIC_ERRORS } from "./errors.ts";
import { fetchApi } from "./fetch-api.ts";
import { produceApi } from "./produce-api.ts";

const NO_EPOCH = -1;
const NO_SESSION = -1;
const READ_COMMITTED = 1;
const OK = 0;

export class PlatformaticFetchRequests implements ReadRequests {
  readonly errors = PLATFORMATIC_ERRORS;
  readonly #options: KafkaClientOptions;
  readonly #cluster: Cluster;

  constructor(options: KafkaClientOptions, cluster: Cluster) {
    this.#options = options;
    this.#cluster = cluster;
  }

  async leaderOf(partition: TopicPartition): Promise<number> {
    return await this.#cluster.leaderOf(partition);
  }

  async fetch(leader: number, wanted: readonly PartitionOffset[]): Promise<readonly FetchedPartition[]> {
    const { fetchWaitMs, fetchMaxBytes, partitionFetchMaxBytes } = this.#options;
    const names = new Map<string, string>();
    const topics = [];
    for (const { topic, partitions } of byTopic(wanted, ({ partition, offset }) => ({
      partition,
      currentLeaderEpoch: NO_EPOCH,
      fetchOffset: BigInt(offset),
      lastFetchedEpoch: NO_EPOCH,
      partitionMaxBytes: partitionFetchMaxBytes,
    }))) {
      const { id } = await this.#cluster.topic(topic);
      names.set(id, topic);
      topics.push({ topicId: id, partitions });
    }
    const connection = await this.#cluster.fetchConnection(leader);
    const { errorCode, partitions } = await fetchApi.async(
      connection,
      fetchWaitMs,
      1,
      fetchMaxBytes,
      READ_COMMITTED,
      0,
      NO_SESSION,
      topics,
      [],
      "",
    );
    if (errorCode !== OK) throw brokerError(nameOf(errorCode), "fetching", undefined);
    return partitions.flatMap(({ topicId, errorCode, ...part }) => {
      const topic = names.get(topicId);
      return topic === undefined
        ? []
        : [{ ...part, topic, errorName: errorCode === OK ? null : nameOf(errorCode) }];
    });
  }

  async startOf(partition: TopicPartition): Promise<number> {
    const [start] = await this.#cluster.offsets([partition], EARLIEST);
    if (start) return start.offset;
    throw kafkaError("unavailable", `the broker did not say where ${partitionKey(partition)} begins`);
  }

  async partitionCount(topic: string): Promise<number> {
    return (await this.#cluster.topic(topic)).leaders.length;
  }

  async offsets(partitions: readonly TopicPartition[], at: number): Promise<readonly PartitionOffset[]> {
    return await this.#cluster.offsets(partitions, BigInt(at));
  }

  forget(topic: string): void {
    this.#cluster.forget(topic);
  }
}

export class PlatformaticProduceRequests implements ProduceRequests {
  readonly errors = PLATFORMATIC_ERRORS;
  readonly #options: KafkaClientOptions;
  readonly #cluster: Cluster;

  constructor(options: KafkaClientOptions, cluster: Cluster) {
    this.#options = options;
    this.#cluster = cluster;
  }

  async leaderOf(partition: TopicPartition): Promise<number> {
    return await this.#cluster.leaderOf(partition);
  }

  async newProducerId(): Promise<ProducerId> {
    const connection = await this.#cluster.anyBroker();
    const { producerId, producerEpoch } = await initProducerIdV4.api.async(
      connection,
      null,
      this.#options.requestTimeoutMs,
      -1n,
      -1,
    );
    return { id: producerId, epoch: producerEpoch };
  }

  async send(leader: number, request: ProduceRequest): Promise<void> {
    const { partition, records, producer, sequence, timestampMs, timeoutMs } = request;
    const { compression } = this.#options;
    const connection = await this.#cluster.produceConnection(leader);
    const batch = await packBatch(records, { producer, sequence, timestampMs, compression });
    await produceApi.async(connection, timeoutMs, partition.topic, partition.partition, batch);
  }

  forget(topic: string): void {
    this.#cluster.forget(topic);
  }
}

function nameOf(errorCode: number): string {
  return protocolErrorsCodesById[errorCode] ?? `error ${errorCode}`;
}
