import { BusError } from "../../ports/errors.ts";
import type { KafkaClient } from "./client/client.ts";
import { isRefusal } from "./client/kafka-errors.ts";
import type { KafkaClientOptions } from "./client/options.ts";
import { retryDelayMs } from "./client/retry-delay.ts";

/** Cache time for a missing topic, which may be created soon. Other errors carry their own delay. */
const UNKNOWN_TOPIC_MEMORY_MS = 1_000;
/** Some brokers briefly don't know a new topic, so only the last answer counts. */
const UNKNOWN_TOPIC_ATTEMPTS = 4;

interface Known {
  readonly partitions: number;
  readonly learnedAtMs: number;
}

/** Caches partition counts. Returns the cached count at once and refreshes it in the background. */
export class TopicPartitions {
  readonly #client: KafkaClient;
  readonly #options: KafkaClientOptions;
  readonly #known = new Map<string, Known>();
  readonly #refused = new Map<string, { readonly error: BusError; readonly untilMs: number }>();
  readonly #asking = new Map<string, Promise<number>>();

  constructor(client: KafkaClient, options: KafkaClientOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Answers concurrent calls for a topic in call order. */
  async count(topic: string): Promise<number> {
    const nowMs = this.#options.clock.monotonic();
    const known = this.#known.get(topic);
    if (known === undefined) return await this.#shared(topic, nowMs);
    // A failed refresh keeps the cached count. Publishers detect unavailable brokers themselves.
    if (nowMs - known.learnedAtMs > this.#options.metadataMaxAgeMs)
      void this.#shared(topic, nowMs).catch(() => undefined);
    return known.partitions;
  }

  #shared(topic: string, nowMs: number): Promise<number> {
    const refused = this.#refused.get(topic);
    if (refused !== undefined && nowMs < refused.untilMs) return Promise.reject(refused.error);
    const asking = this.#asking.get(topic) ?? this.#learn(topic);
    this.#asking.set(topic, asking);
    return asking;
  }

  async #learn(topic: string): Promise<number> {
    const { clock } = this.#options;
    try {
      const partitions = await this.#ask(topic);
      this.#known.set(topic, { partitions, learnedAtMs: clock.monotonic() });
      return partitions;
    } catch (error) {
      if (error instanceof BusError && isRefusal(error))
        this.#refused.set(topic, { error, untilMs: clock.monotonic() + memoryMs(error) });
      throw error;
    } finally {
      this.#asking.delete(topic);
    }
  }

  async #ask(topic: string): Promise<number> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#client.partitionCount(topic);
      } catch (error) {
        const unknown = error instanceof BusError && error.code === "unknown_topic";
        if (!unknown || attempt === UNKNOWN_TOPIC_ATTEMPTS) throw error;
        await this.#options.clock.sleep(retryDelayMs(this.#options, attempt));
      }
    }
  }
}

/** Limits requests of a publisher that retries fast. */
function memoryMs({ code, retryAfterMs }: BusError): number {
  return code === "unknown_topic" ? UNKNOWN_TOPIC_MEMORY_MS : (retryAfterMs ?? 0);
}
