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
import { KafkajsCluster } from "./kafkajs-cluster.ts";
import { brokerErrorName, kafkajsError } from "./kafkajs-errors.ts";
import { KafkajsFetchRequests, KafkajsProduceRequests } from "./kafkajs-requests.ts";
import type { KafkaClientOptions } from "../client/options.ts";
import { untilServed } from "../client/until-served.ts";

export function createKafkajsClient(options: KafkaClientOptions): KafkaClient {
  return new KafkajsClient(options);
}

const TOPIC_RESOURCE = 2;

class KafkajsClient implements KafkaClient {
  readonly #options: KafkaClientOptions;
  readonly #cluster: KafkajsCluster;
  readonly #producer: IdempotentProducer;

  constructor(options: KafkaClientOptions) {
    this.#options = options;
    this.#cluster = new KafkajsCluster(options);
    this.#producer = new IdempotentProducer(options, new KafkajsProduceRequests(options, this.#cluster));
  }

  async partitionCount(topic: string): Promise<number> {
    const doing = `asking for the partitions of ${topic}`;
    return await named(doing, async () => (await this.#cluster.partitionsOf(topic)).size);
  }

  async brokerCount(): Promise<number> {
    return await named("asking for the brokers", () => this.#cluster.brokerCount());
  }

  async produce(partition: TopicPartition, records: readonly KafkaRecord[]): Promise<void> {
    await this.#producer.produce(partition, records);
  }

  read(options: ReadOptions): KafkaReader {
    return new TopicsReader(this.#options, new KafkajsFetchRequests(this.#options, this.#cluster), options);
  }

  async describeTopic(topic: string): Promise<TopicDescription | null> {
    return await named(`describing ${topic}`, async () => {
      this.#cluster.forget(topic);
      try {
        const partitions = [...(await this.#cluster.partitionsOf(topic)).values()];
        const config = await this.#configOf(topic);
        const replicationFactor = Math.min(...partitions.map(({ replicas }) => replicas.length));
        return { topic, partitions: partitions.length, replicationFactor, config };
      } catch (error) {
        if (brokerErrorName(error) === "UNKNOWN_TOPIC_OR_PARTITION") return null;
        throw error;
      }
    });
  }

  async createTopic(description: TopicDescription): Promise<boolean> {
    const { topic, partitions, replicationFactor, config } = description;
    return await named(`creating ${topic}`, async () => {
      const wanted = {
        topic,
        numPartitions: partitions,
        replicationFactor,
        replicaAssignment: [],
        configEntries: Object.entries(config).map(([name, value]) => ({ name, value })),
      };
      const args = { topics: [wanted], validateOnly: false, timeout: this.#options.requestTimeoutMs };
      try {
        await this.#cluster.callAny({ api: "CreateTopics", args });
      } catch (error) {
        // The library aggregates errors of topics; here there is one topic.
        const only = error instanceof Error && "errors" in error ? (error.errors as unknown[])[0] : error;
        if (brokerErrorName(only) === "TOPIC_ALREADY_EXISTS") return false;
        throw only;
      }
      await untilServed(this.#options, () => this.#isServed(topic));
      return true;
    });
  }

  async close(): Promise<void> {
    this.#producer.close();
    this.#cluster.close();
  }

  async #isServed(topic: string): Promise<boolean> {
    this.#cluster.forget(topic);
    const partitions = [...(await this.#cluster.partitionsOf(topic)).values()];
    return partitions.every(({ leader }) => leader >= 0);
  }

  async #configOf(topic: string): Promise<Record<string, string>> {
    const args = { resources: [{ type: TOPIC_RESOURCE, name: topic }], includeSynonyms: false };
    const { resources } = (await this.#cluster.callAny({ api: "DescribeConfigs", args })) as {
      readonly resources: readonly {
        readonly configEntries: readonly {
          readonly configName: string;
          readonly configValue: string | null;
        }[];
      }[];
    };
    const entries = resources[0]?.configEntries ?? [];
    return Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue ?? ""]));
  }
}

async function named<T>(doing: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw kafkajsError(error, doing);
  }
}
