import type { TopicPartition } from "../../ports/port.ts";
import type { PartitionOffset } from "./client/client.ts";
import { partitionKey } from "./client/records.ts";

interface Waiting {
  readonly partition: TopicPartition;
  offset: number;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * Commits of one member: one request at a time. What is asked for meanwhile goes together in the next, the
 * largest offset of each partition, so that commits neither overtake each other nor flood the coordinator.
 */
export class CommitQueue {
  readonly #commit: (offsets: readonly PartitionOffset[]) => Promise<void>;
  #waiting = new Map<string, Waiting>();
  #running = false;

  constructor(commit: (offsets: readonly PartitionOffset[]) => Promise<void>) {
    this.#commit = commit;
  }

  async add(partition: TopicPartition, offset: number): Promise<void> {
    const key = partitionKey(partition);
    const waiting = this.#waiting.get(key) ?? { partition, offset, done: Promise.withResolvers<void>() };
    waiting.offset = Math.max(waiting.offset, offset);
    this.#waiting.set(key, waiting);
    if (!this.#running) void this.#run();
    await waiting.done.promise;
  }

  /** Never rejects. Begins a microtask later, so that what is asked for together goes together. */
  async #run(): Promise<void> {
    this.#running = true;
    await Promise.resolve();
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting.values()];
      this.#waiting = new Map();
      try {
        await this.#commit(batch.map(({ partition, offset }) => ({ ...partition, offset })));
        for (const { done } of batch) done.resolve();
      } catch (error) {
        for (const { done } of batch) done.reject(error);
      }
    }
    this.#running = false;
  }
}
