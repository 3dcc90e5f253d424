import { setImmediate as nextTurn } from "node:timers/promises";

import { pause, type Clock, type Logger } from "@isochrone/runtime";
import { BusError, isPostponed } from "../../ports/errors.ts";
import type { Batch, BusRecord } from "../../ports/port.ts";
import type { Bounds, PartitionLog } from "./partition-log.ts";

/** What a member needs from its bus. */
export interface MemberDeps {
  readonly clock: Clock;
  readonly logger: Logger | undefined;
  /** Pause before a batch whose handler threw comes again. */
  readonly redeliveryDelayMs: number;
}

/** Where the group stands in one partition; shared by all members, so that it survives each of them. */
export interface GroupPosition {
  readonly log: PartitionLog;
  committed: number;
}

interface PartitionReaderOptions {
  readonly position: GroupPosition;
  readonly batch: Bounds;
  readonly onBatch: (batch: Batch) => Promise<void>;
  /** Nothing is left to deliver. */
  readonly onIdle: () => void;
  readonly onCommit: (position: GroupPosition) => void;
  readonly group: string;
  readonly deps: MemberDeps;
}

/**
 * Delivers one partition to one member: one batch at a time, again after a throw, from the group's last
 * commit.
 */
export class PartitionReader {
  readonly #options: PartitionReaderOptions;
  readonly #stop = new AbortController();
  readonly #begun = Promise.withResolvers<void>();
  readonly #done: Promise<void>;
  #wake: () => void = () => undefined;
  #released = false;
  /** Offset of the next record to deliver. */
  #next: number;

  constructor(options: PartitionReaderOptions) {
    this.#options = options;
    this.#next = options.position.committed;
    this.#done = this.#run();
  }

  get log(): PartitionLog {
    return this.#options.position.log;
  }

  /** Aborts when reading is to end. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Lets delivery start (or, after `stop`, end). */
  begin(): void {
    this.#begun.resolve();
  }

  /** Resolves when no handler runs any more. Commits stay possible until `release`. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await this.#done;
  }

  /** From here on the partition belongs to another member. */
  release(): void {
    this.#released = true;
  }

  async #run(): Promise<void> {
    const stopListening = this.log.onAppend(() => this.#wake());
    try {
      await this.#begun.promise;
      while (!this.signal.aborted) await this.#deliverNext();
    } finally {
      stopListening();
    }
  }

  async #deliverNext(): Promise<void> {
    const records = this.log.read(this.#next, this.#options.batch);
    const first = records[0];
    if (!first) return await this.#somethingNew();
    if (first.offset > this.#next) this.#reportSkipped(first.offset - this.#next);
    this.#next = first.offset;
    try {
      await this.#options.onBatch(this.#batchOf(records));
      this.#next = first.offset + records.length;
    } catch (error) {
      await this.#pauseAfter(error, first);
    }
    // A turn of the event loop between batches: a quick handler on a long backlog must not starve timers and
    // sockets.
    await nextTurn();
  }

  #batchOf(records: readonly BusRecord[]): Batch {
    const { topic, partition } = this.log;
    const end = (records[0]?.offset ?? 0) + records.length;
    return {
      topic,
      partition,
      records,
      endOffset: this.log.end,
      // Async, so that a refusal is a rejection and never a throw at the call.
      commit: async (nextOffset = end) => this.#commit(nextOffset, end),
    };
  }

  #commit(nextOffset: number, end: number): void {
    const { position, group, onCommit } = this.#options;
    const where = `${this.log.topic}/${this.log.partition}`;
    if (this.#released)
      throw new BusError("not_assigned", `${where} was handed over to another member of group ${group}`);
    if (!Number.isSafeInteger(nextOffset) || nextOffset < 0 || nextOffset > end) {
      throw new BusError(
        "invalid_offset",
        `commit on ${where} must be a whole number from 0 to ${end}, got ${nextOffset}`,
      );
    }
    if (nextOffset <= position.committed) return;
    position.committed = nextOffset;
    onCommit(position);
  }

  /** Goes back to the batch's begin, or to what of it was committed before the throw. */
  async #pauseAfter(error: unknown, first: BusRecord): Promise<void> {
    const { position, group, deps } = this.#options;
    if (!isPostponed(error))
      deps.logger?.warnOnce(`bus:${group}:${first.topic}`, "bus handler failed, batch comes again", {
        group,
        topic: first.topic,
        partition: first.partition,
        offset: first.offset,
        error,
      });
    this.#next = Math.max(first.offset, position.committed);
    await pause(deps.clock, deps.redeliveryDelayMs, this.signal);
  }

  #reportSkipped(count: number): void {
    const { group, deps } = this.#options;
    deps.logger?.warn("bus records expired before the group read them", {
      group,
      topic: this.log.topic,
      count,
    });
  }

  async #somethingNew(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (this.signal.aborted || this.#next < this.log.end) resolve();
    else this.#options.onIdle();
    await promise;
  }
}
