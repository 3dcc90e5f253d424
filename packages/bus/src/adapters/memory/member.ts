import { pause } from "@isochrone/runtime";

import { BusError } from "../../ports/errors.ts";
import type { Batch, SubscribeOptions, TopicPartition } from "../../ports/port.ts";
import type { Bounds, PartitionLog } from "./partition-log.ts";
import { PartitionReader, type GroupPosition, type MemberDeps } from "./partition-reader.ts";

const DEFAULT_BATCH: Bounds = { records: 500, bytes: 4 * 1024 * 1024 };

/** One subscriber of a group: reads the partitions it was given, each with a loop of its own. */
export class Member {
  readonly options: SubscribeOptions;
  readonly #deps: MemberDeps;
  readonly #onCommit: (position: GroupPosition) => void;
  readonly #readers = new Map<PartitionLog, PartitionReader>();
  readonly #batch: Bounds;
  readonly #name: string;
  readonly #idle = new Set<PartitionLog>();
  #isCaughtUp = false;

  constructor(options: SubscribeOptions, deps: MemberDeps, onCommit: (position: GroupPosition) => void) {
    this.options = options;
    this.#deps = deps;
    this.#onCommit = onCommit;
    this.#name = options.group ?? options.topics.join(" ");
    this.#batch = {
      records: positive(this.#name, "maxBatchRecords", options.maxBatchRecords ?? DEFAULT_BATCH.records),
      bytes: positive(this.#name, "maxBatchBytes", options.maxBatchBytes ?? DEFAULT_BATCH.bytes),
    };
  }

  owns(log: PartitionLog): boolean {
    return this.#readers.has(log);
  }

  /** How many partitions this member reads. */
  get load(): number {
    return this.#readers.size;
  }

  /**
   * Begins to read, once onAssigned has settled well; a failing onAssigned is tried again after the pause, as
   * a failing handler is.
   */
  assign(positions: readonly GroupPosition[]): void {
    if (positions.length === 0) return;
    const readers = positions.map(
      (position) =>
        new PartitionReader({
          position,
          batch: this.#batch,
          onBatch: (batch) => this.#handle(batch),
          onIdle: () => this.#noteIdle(position.log),
          onCommit: this.#onCommit,
          group: this.#name,
          deps: this.#deps,
        }),
    );
    for (const reader of readers) this.#readers.set(reader.log, reader);
    void this.#announce(readers);
  }

  /**
   * Ends reading of these partitions: running handlers settle, then onRevoked, and only then are commits
   * refused.
   */
  async revoke(logs: readonly PartitionLog[]): Promise<void> {
    const readers = logs.map((log) => this.#readers.get(log)).filter((reader) => reader !== undefined);
    if (readers.length === 0) return;
    await Promise.all(readers.map((reader) => reader.stop()));
    try {
      await this.options.onRevoked?.(readers.map((reader) => nameOf(reader.log)));
    } catch (error) {
      this.#deps.logger?.error("bus revocation handler failed", { group: this.#name, error });
    }
    for (const reader of readers) {
      reader.release();
      this.#readers.delete(reader.log);
    }
  }

  /** Tells a subscriber without a group, once, that it has read everything. */
  noteCaughtUp(): void {
    if (this.#isCaughtUp || this.options.group !== undefined) return;
    this.#isCaughtUp = true;
    this.options.onCaughtUp?.();
  }

  async #handle(batch: Batch): Promise<void> {
    await this.options.onBatch(batch);
    // Without a group a handled batch counts as done.
    if (this.options.group === undefined) await batch.commit();
  }

  #noteIdle(log: PartitionLog): void {
    this.#idle.add(log);
    if ([...this.#readers.keys()].every((each) => this.#idle.has(each))) this.noteCaughtUp();
  }

  async revokeAll(): Promise<void> {
    await this.revoke([...this.#readers.keys()]);
  }

  /** Never rejects. Partitions that are revoked meanwhile drop out between two attempts, never during one. */
  async #announce(readers: readonly PartitionReader[]): Promise<void> {
    let open = readers;
    while (open.length > 0) {
      try {
        await this.options.onAssigned?.(open.map((reader) => nameOf(reader.log)));
        for (const reader of open) reader.begin();
        return;
      } catch (error) {
        this.#deps.logger?.error("bus assignment handler failed", { group: this.#name, error });
      }
      const revoked = AbortSignal.any(open.map((reader) => reader.signal));
      await pause(this.#deps.clock, this.#deps.redeliveryDelayMs, revoked);
      for (const reader of open.filter(({ signal }) => signal.aborted)) reader.begin();
      open = open.filter(({ signal }) => !signal.aborted);
    }
  }
}

function nameOf(log: PartitionLog): TopicPartition {
  return { topic: log.topic, partition: log.partition };
}

function positive(group: string, name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new BusError(
    "invalid_option",
    `${name} of group ${group} must be a whole number of at least 1, got ${value}`,
  );
}
