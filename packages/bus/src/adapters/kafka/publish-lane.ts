import { BusError } from "../../ports/errors.ts";
import type { KafkaRecord } from "./client/client.ts";
import { sizeOf } from "./client/records.ts";

/** Well below the 1 MiB that a broker takes at once, even when nothing can be compressed. */
const MAX_BATCH_BYTES = 900 * 1024;

/** What one publish has for one partition. */
export interface Part {
  readonly records: readonly KafkaRecord[];
  readonly bytes: number;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * The way of one partition's records to the broker: one batch at a time, so that their order is that of the
 * publishing, and what came while a batch was under way goes together in the next.
 */
export class PublishLane {
  readonly #produce: (records: readonly KafkaRecord[]) => Promise<void>;
  #waiting: Part[] = [];
  #running: Promise<void> | null = null;
  /** How many parts go one by one, because a batch with them was refused for good. */
  #singly = 0;

  constructor(produce: (records: readonly KafkaRecord[]) => Promise<void>) {
    this.#produce = produce;
  }

  push(part: Part): void {
    this.#waiting.push(part);
    this.#running ??= this.#run();
  }

  /** Takes a part back, unless it is under way already. */
  withdraw(part: Part): void {
    this.#waiting = this.#waiting.filter((other) => other !== part);
  }

  /** What waits gets `error`; resolves when nothing is under way any more. */
  async close(error: BusError): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const part of waiting) part.done.reject(error);
    await this.#running;
  }

  /** Never rejects. Begins a microtask later, so that what is published together goes together. */
  async #run(): Promise<void> {
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const parts = this.#take();
      try {
        for (const batch of inBatches(parts.flatMap(({ records }) => records))) await this.#produce(batch);
        for (const part of parts) part.done.resolve();
      } catch (error) {
        this.#failed(parts, error);
      }
    }
    this.#running = null;
  }

  #take(): Part[] {
    if (this.#singly > 0) {
      this.#singly -= 1;
      return this.#waiting.splice(0, 1);
    }
    let bytes = 0;
    let count = 0;
    for (const part of this.#waiting) {
      bytes += part.bytes;
      if (count > 0 && bytes > MAX_BATCH_BYTES) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  /** One bad record must not cost the others' publishes. */
  #failed(parts: readonly Part[], error: unknown): void {
    const hopeless = error instanceof BusError && !error.retryable;
    if (hopeless && parts.length > 1) {
      this.#waiting.unshift(...parts);
      this.#singly = parts.length;
      return;
    }
    for (const part of parts) part.done.reject(error);
  }
}

function inBatches(records: readonly KafkaRecord[]): KafkaRecord[][] {
  const batches: KafkaRecord[][] = [];
  let room = 0;
  for (const record of records) {
    const bytes = sizeOf(record);
    if (bytes > room) {
      batches.push([]);
      room = MAX_BATCH_BYTES;
    }
    batches.at(-1)?.push(record);
    room -= bytes;
  }
  return batches;
}
