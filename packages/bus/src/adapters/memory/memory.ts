import type { Clock, Logger } from "@isochrone/runtime";

import { keysOf } from "@isochrone/primitives";
import { BusError } from "../../ports/errors.ts";
import { partitionOf } from "../../ports/partitioner.ts";
import type { Bus, OutgoingRecord, SubscribeOptions, Subscription } from "../../ports/port.ts";
import { Admission } from "./admission.ts";
import { PartitionLog } from "./partition-log.ts";
import { Reader } from "./reader.ts";

export interface MemoryBusOptions {
  readonly clock: Clock;
  /** Partitions per topic. @default 4 */
  readonly partitions?: number;
  /** Records ahead of the slowest reader. Beyond it, publishers wait. @default 16384 */
  readonly capacityRecords?: number;
  /** Bytes (values, keys, headers and 128 per record) ahead of the slowest reader. @default 32 MiB */
  readonly capacityBytes?: number;
  /** Records kept after all readers have handled them, or without readers. @default 4096 */
  readonly retentionRecords?: number;
  /** Bytes kept after all readers have handled them, or without readers. @default 8 MiB */
  readonly retentionBytes?: number;
  /** Maximum wait of a publisher for room, then BusError `overloaded`. @default 10000 */
  readonly publishTimeoutMs?: number;
  /** Pause before redelivery of a batch whose handler threw. @default 1000 */
  readonly redeliveryDelayMs?: number;
  readonly logger?: Logger;
}

interface MemoryPartitionState {
  readonly topic: string;
  readonly partition: number;
  readonly startOffset: number;
  readonly endOffset: number;
  readonly bytes: number;
  /** Records that the slowest reader has not handled; 0 without readers. */
  readonly backlogRecords: number;
}

export interface MemoryBus extends Bus {
  inspect(): MemoryPartitionState[];
}

const DEFAULTS = {
  partitions: 4,
  capacityRecords: 16_384,
  capacityBytes: 32 * 1024 * 1024,
  retentionRecords: 4_096,
  retentionBytes: 8 * 1024 * 1024,
  publishTimeoutMs: 10_000,
  redeliveryDelayMs: 1_000,
};

type Resolved = typeof DEFAULTS & Pick<MemoryBusOptions, "clock" | "logger">;

export function createMemoryBus(options: MemoryBusOptions): MemoryBus {
  const resolved = { ...DEFAULTS, ...options };
  for (const name of keysOf(DEFAULTS)) {
    const value = resolved[name];
    const min = name.endsWith("Ms") || name.startsWith("retention") ? 0 : 1;
    if (!Number.isSafeInteger(value) || value < min) {
      throw new BusError(
        "invalid_option",
        `${name} of the memory bus must be a whole number of at least ${min}, got ${value}`,
      );
    }
  }
  return new InProcessBus(resolved);
}

class InProcessBus implements MemoryBus {
  readonly #options: Resolved;
  readonly #topics = new Map<string, readonly PartitionLog[]>();
  readonly #readers = new Set<Reader>();
  readonly #admission: Admission;
  #closing: Promise<void> | null = null;

  constructor(options: Resolved) {
    this.#options = options;
    this.#admission = new Admission({
      clock: options.clock,
      timeoutMs: options.publishTimeoutMs,
      capacity: { records: options.capacityRecords, bytes: options.capacityBytes },
      floor: (log) => this.#floor(log),
    });
  }

  async publish(
    topic: string,
    records: readonly OutgoingRecord[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<void> {
    if (this.#closing) throw closedError();
    if (records.length === 0) return;
    const logs = this.#logsOf(topic);
    const parts = new Map<PartitionLog, OutgoingRecord[]>();
    for (const record of records) {
      const log = logs[partitionOf(record.key, logs.length)];
      if (!log) continue;
      const part = parts.get(log);
      if (part) part.push(record);
      else parts.set(log, [record]);
    }
    await this.#admission.admit(parts, options?.signal);
    for (const log of parts.keys()) log.trim(this.#floor(log) ?? log.end);
  }

  async partitionCount(topic: string): Promise<number> {
    if (this.#closing) throw closedError();
    return this.#logsOf(topic).length;
  }

  async subscribe(options: SubscribeOptions): Promise<Subscription> {
    if (this.#closing) throw closedError();
    const { clock, logger, redeliveryDelayMs } = this.#options;
    const reader: Reader = new Reader(
      options,
      options.topics.flatMap((topic) => this.#logsOf(topic)),
      {
        clock,
        logger,
        redeliveryDelayMs,
        onProgress: (log) => this.#release(log),
        onClosed: () => {
          this.#readers.delete(reader);
          // A closed reader no longer limits the partition.
          for (const log of [...this.#topics.values()].flat()) this.#release(log);
        },
      },
    );
    this.#readers.add(reader);
    return reader;
  }

  async close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    await this.#closing;
  }

  inspect(): MemoryPartitionState[] {
    return [...this.#topics.values()].flat().map((log) => ({
      topic: log.topic,
      partition: log.partition,
      startOffset: log.start,
      endOffset: log.end,
      bytes: log.bytes,
      backlogRecords: log.end - Math.max(this.#floor(log) ?? log.end, log.start),
    }));
  }

  async #shutDown(): Promise<void> {
    this.#admission.close(closedError());
    await Promise.all([...this.#readers].map((reader) => reader.close()));
  }

  #release(log: PartitionLog): void {
    log.trim(this.#floor(log) ?? log.end);
    this.#admission.pump();
  }

  #logsOf(topic: string): readonly PartitionLog[] {
    const known = this.#topics.get(topic);
    if (known) return known;
    const retention = { records: this.#options.retentionRecords, bytes: this.#options.retentionBytes };
    const logs = Array.from(
      { length: this.#options.partitions },
      (_, i) => new PartitionLog(topic, i, retention),
    );
    this.#topics.set(topic, logs);
    return logs;
  }

  /** Offset of the slowest reader; null without readers. */
  #floor(log: PartitionLog): number | null {
    let floor: number | null = null;
    for (const reader of this.#readers) {
      const handled = reader.floor(log);
      if (handled !== null && (floor === null || handled < floor)) floor = handled;
    }
    return floor;
  }
}

function closedError(): BusError {
  return new BusError("closed", "the memory bus is closed");
}
