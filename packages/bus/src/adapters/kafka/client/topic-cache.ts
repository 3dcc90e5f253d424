import type { KafkaClientOptions } from "./options.ts";

interface Known<T> {
  readonly metadata: T;
  readonly learnedAtMs: number;
}

/** Caches broker answers per topic. Concurrent requests for a topic share one answer. */
export class TopicCache<T> {
  readonly #options: KafkaClientOptions;
  readonly #ask: (topic: string) => Promise<T>;
  readonly #known = new Map<string, Known<T>>();
  readonly #asking = new Map<string, Promise<T>>();

  constructor(options: KafkaClientOptions, ask: (topic: string) => Promise<T>) {
    this.#options = options;
    this.#ask = ask;
  }

  async get(topic: string, maxAgeMs = this.#options.metadataMaxAgeMs): Promise<T> {
    const known = this.#known.get(topic);
    if (known && this.#options.clock.monotonic() - known.learnedAtMs < maxAgeMs) return known.metadata;
    const asking = this.#asking.get(topic) ?? this.#learn(topic);
    this.#asking.set(topic, asking);
    return await asking;
  }

  /** Invalidates the topic, so that the next request asks the brokers. */
  forget(topic: string): void {
    this.#known.delete(topic);
  }

  async #learn(topic: string): Promise<T> {
    try {
      const metadata = await this.#ask(topic);
      this.#known.set(topic, { metadata, learnedAtMs: this.#options.clock.monotonic() });
      return metadata;
    } finally {
      this.#asking.delete(topic);
    }
  }
}
