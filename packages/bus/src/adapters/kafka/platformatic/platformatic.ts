import { Admin, ConfigResourceTypes } from "@platformatic/kafka";

import type { TopicPartition } from "../../../ports/port.ts";
import type {
  KafkaClient,
  KafkaReader,
  KafkaRecord,
  ReadOptions,
  TopicDescription,
} from "../client/client.ts";
import { TopicsReader } from "../client/topics-reader.ts";
import { IdempotentProducer } from "../client/idempotent-producer.ts";
import type { KafkaClientOptions } from "../client/options.ts";
import { Cluster, libraryOptions, NO_LEADER } from "./cluster.ts";
import { brokerErrorName, mapError } from "./errors.ts";
import { PlatformaticFetchRequests, PlatformaticProduceRequests } from "./requests.ts";
import { untilServed } from "../client/until-served.ts";

export function createPlatformaticClient(options: KafkaClientOptions): KafkaClient {
  return new PlatformaticClient(options);
}

class PlatformaticClient implements KafkaClient {
  readonly #options: KafkaClientOptions;
  readonly #cluster: Cluster;
  readonly #producer: IdempotentProducer;
  #admin: Admin | null = null;

  constructor(options: KafkaClientOptions) {
    this.#options = options;
    this.#cluster = new Cluster(options);
    this.#producer = new IdempotentProducer(options, new PlatformaticProduceRequests(options, this.#cluster));
  }

  async partitionCount(topic: string): Promise<number> {
    return (await this.#cluster.topic(topic)).leaders.length;
  }

  async produce(partition: TopicPartition, records: readonly KafkaRecord[]): Promise<void> {
    await this.#producer.produce(partition, records);
  }

  read(options: ReadOptions): KafkaReader {
    const requests = new PlatformaticFetchRequests(this.#options, this.#cluster);
    return new TopicsReader(this.#options, requests, options);
  }

  async brokerCount(): Promise<number> {
    return await this.#cluster.brokerCount();
  }

  async describeTopic(topic: string): Promise<TopicDescription | null> {
    const doing = `describing the topic ${topic}`;
    try {
      const { leaders, replicas } = await this.#cluster.topic(topic, 0);
      const described = await this.#adminClient().describeConfigs({
        resources: [
          { resourceType: ConfigResourceTypes.TOPIC, resourceName: topic, configurationKeys: null },
        ],
      });
      const configs = described[0]?.configs ?? [];
      return {
        topic,
        partitions: leaders.length,
        replicationFactor: replicas,
        config: Object.fromEntries(configs.map(({ name, value }) => [name, value ?? ""])),
      };
    } catch (cause) {
      const error = mapError(cause, doing);
      if (error.code === "unknown_topic") return null;
      throw error;
    }
  }

  async createTopic({ topic, partitions, replicationFactor, config }: TopicDescription): Promise<boolean> {
    try {
      await this.#adminClient().createTopics({
        topics: [topic],
        partitions,
        replicas: replicationFactor,
        configs: Object.entries(config).map(([name, value]) => ({ name, value })),
      });
      await untilServed(this.#options, () => this.#isServed(topic));
      return true;
    } catch (error) {
      if (brokerErrorName(error) === "TOPIC_ALREADY_EXISTS") return false;
      throw mapError(error, `creating the topic ${topic}`);
    }
  }

  async close(): Promise<void> {
    this.#producer.close();
    await Promise.allSettled([this.#cluster.close(), this.#admin?.close()]);
  }

  async #isServed(topic: string): Promise<boolean> {
    const { leaders } = await this.#cluster.topic(topic, 0);
    return !leaders.includes(NO_LEADER);
  }

  #adminClient(): Admin {
    this.#admin ??= new Admin(libraryOptions(this.#options));
    return this.#admin;
  }
}
