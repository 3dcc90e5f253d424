import kafkajs from "kafkajs";

import type { TopicPartition } from "../../../ports/port.ts";
import type { PartitionOffset } from "../client/client.ts";
import type { ReadRequests } from "../client/topics-reader.ts";
import type { FetchedPartition } from "../client/fetcher.ts";
import type { ProducerId, ProduceRequest, ProduceRequests } from "../client/idempotent-producer.ts";
import { EARLIEST } from "./kafkajs-cluster.ts";
import type { KafkajsCluster } from "./kafkajs-cluster.ts";
import { registerCodecs } from "./kafkajs-codecs.ts";
import { KAFKAJS_ERRORS } from "./kafkajs-errors.ts";
import { readFetchAnswer } from "./kafkajs-fetch-answer.ts";
import type { KafkaClientOptions } from "../client/options.ts";
import { byTopic } from "../client/records.ts";

const READ_COMMITTED = 1;
const ALL_IN_SYNC = -1;
const TRANSACTION_TIMEOUT_MS = 60_000;

const COMPRESSION = {
  none: kafkajs.CompressionTypes.None,
  gzip: kafkajs.CompressionTypes.GZIP,
  lz4: kafkajs.CompressionTypes.LZ4,
  zstd: kafkajs.CompressionTypes.ZSTD,
} as const;

registerCodecs(kafkajs);

export class KafkajsFetchRequests implements ReadRequests {
  readonly errors = KAFKAJS_ERRORS;
  readonly #options: KafkaClientOptions;
  readonly #cluster: KafkajsCluster;

  constructor(options: KafkaClientOptions, cluster: KafkajsCluster) {
    this.#options = options;
    this.#cluster = cluster;
  }

  async leaderOf(partition: TopicPartition): Promise<number> {
    return await this.#cluster.leaderOf(partition);
  }

  async fetch(leader: number, wanted: readonly PartitionOffset[]): Promise<readonly FetchedPartition[]> {
    const { fetchWaitMs, fetchMaxBytes, partitionFetchMaxBytes } = this.#options;
    const args = {
      isolationLevel: READ_COMMITTED,
      maxWaitTime: fetchWaitMs,
      minBytes: 1,
      maxBytes: fetchMaxBytes,
      rackId: "",
      topics: byTopic(wanted, ({ partition, offset }) => ({
        partition,
        fetchOffset: String(offset),
        maxBytes: partitionFetchMaxBytes,
      })),
    };
    const decode = readFetchAnswer;
    return (await this.#cluster.call(leader, { api: "Fetch", args, decode })) as FetchedPartition[];
  }

  async startOf(partition: TopicPartition): Promise<number> {
    return await this.#cluster.offsetAt(partition, EARLIEST);
  }

  async partitionCount(topic: string): Promise<number> {
    return (await this.#cluster.partitionsOf(topic)).size;
  }

  async offsets(partitions: readonly TopicPartition[], at: number): Promise<readonly PartitionOffset[]> {
    return await Promise.all(
      partitions.map(async ({ topic, partition }) => {
        const offset = await this.#cluster.offsetAt({ topic, partition }, String(at));
        return { topic, partition, offset };
      }),
    );
  }

  forget(topic: string): void {
    this.#cluster.forget(topic);
  }
}

/** Sends one request per partition, so that its answer covers all of its records. */
export class KafkajsProduceRequests implements ProduceRequests {
  readonly errors = KAFKAJS_ERRORS;
  readonly #options: KafkaClientOptions;
  readonly #cluster: KafkajsCluster;

  constructor(options: KafkaClientOptions, cluster: KafkajsCluster) {
    this.#options = options;
    this.#cluster = cluster;
  }

  async leaderOf(partition: TopicPartition): Promise<number> {
    return await this.#cluster.leaderOf(partition);
  }

  async newProducerId(): Promise<ProducerId> {
    const args = { transactionTimeout: TRANSACTION_TIMEOUT_MS };
    const { producerId, producerEpoch } = (await this.#cluster.callAny({ api: "InitProducerId", args })) as {
      readonly producerId: string;
      readonly producerEpoch: number;
    };
    return { id: BigInt(producerId), epoch: producerEpoch };
  }

  async send(leader: number, request: ProduceRequest): Promise<void> {
    const { topic, partition } = request.partition;
    const { records, producer, sequence, timestampMs, timeoutMs } = request;
    const messages = records.map((record) => ({ ...record, timestamp: timestampMs }));
    await this.#cluster.call(leader, {
      api: "Produce",
      args: {
        acks: ALL_IN_SYNC,
        timeout: timeoutMs,
        producerId: String(producer.id),
        producerEpoch: producer.epoch,
        compression: COMPRESSION[this.#options.compression],
        topicData: [{ topic, partitions: [{ partition, firstSequence: sequence, messages }] }],
      },
    });
  }

  forget(topic: string): void {
    this.#cluster.forget(topic);
  }
}
