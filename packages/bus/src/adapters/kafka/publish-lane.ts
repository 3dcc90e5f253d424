import { BusError } from "../../ports/errors.ts";
import type { KafkaRecord } from "./client/client.ts";
import { sizeOf } from "./client/records.ts";

/** Bytes; below the broker's 1 MiB even if the data is incompressible. */
const MAX_BATCH_BYTES = 900 * 1024;

export interface Part {
  readonly records: readonly KafkaRecord[];
  readonly bytes: number;
  readonly done: PromiseWithResolvers<void>;
}

/** Sends one batch at a time, in order. Records that arrive during a send form the next batch. */
export class PublishLane {
  readonly #produce: (records: readonly KafkaRecord[]) => Promise<void>;
  #waiting: Part[] = [];
  #running: Promise<void> | null = null;
  /** Number of parts to send one by one, because a batch with them was refused. */
  #singly = 0;

  constructor(produce: (records: readonly KafkaRecord[]) => Promise<void>) {
    this.#produce = produce;
  }

  push(part: Part): void {
    this.#waiting.push(part);
    this.#running ??= this.#run();
  }

  /** Removes a part, unless it is being sent. */
  withdraw(part: Part): void {
    this.#waiting = this.#waiting.filter((other) => other !== part);
  }

  /** Rejects waiting parts with `error`; resolves when sending has stopped. */
  async close(error: BusError): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const part of waiting) part.done.reject(error);
    await this.#running;
  }

  /** Starts a microtask later, so that concurrent publishes share a batch. Never rejects. */
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

  /** One bad record must not fail other publishes. */
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
