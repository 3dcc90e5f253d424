import { applyContributions } from "../domain/delta/apply-delta.ts";
import { DeltaReader } from "../domain/delta/delta-reader.ts";
import { AcceptedRecords } from "../domain/log/accepted-records.ts";
import { readIndex, type DeltaIndex } from "../domain/log/index-text.ts";
import type { DeltaBody, DeltaHead } from "../domain/log/pane-record.ts";
import { PartitionChain } from "../domain/log/partition-chain.ts";
import type { Tables } from "../domain/graphs/tables.ts";
import { windowStartMs } from "../domain/windows/window-shape.ts";
import type { DrawnDelta } from "./partition-owner.ts";

/** What all replicas know of one input partition. */
interface PartitionState {
  readonly chain: PartitionChain<DeltaBody>;
  readonly accepted: AcceptedRecords;
}

/** The state of all input partitions as the log has it, and the windows that accepted deltas go to. */
export class PartitionStates {
  readonly #tables: Tables;
  readonly #maxSources: number;
  readonly #reader: DeltaReader;
  readonly #isChecking: boolean;
  readonly #states = new Map<string, PartitionState>();

  /** @param options.isChecking false only to show that tests notice */
  constructor(
    tables: Tables,
    options: { readonly maxSeries: number; readonly maxSources: number; readonly isChecking: boolean },
  ) {
    this.#tables = tables;
    this.#isChecking = options.isChecking;
    this.#maxSources = options.maxSources;
    this.#reader = new DeltaReader(tables, options.maxSeries);
  }

  /** Series of other replicas' deltas in memory. */
  get series(): number {
    return this.#reader.series;
  }

  /** Points of other replicas' deltas that could not be used. Only grows. */
  get refusedPoints(): number {
    return this.#reader.refusedPoints;
  }

  of(partition: string): PartitionState {
    let state = this.#states.get(partition);
    if (state === undefined) {
      state = {
        chain: new PartitionChain(this.#isChecking),
        accepted: new AcceptedRecords(this.#maxSources),
      };
      this.#states.set(partition, state);
    }
    return state;
  }

  /** Adds one's own delta. */
  applyOwn(partition: string, { contributions, index, drawnAtMs }: DrawnDelta, nowMs: number): void {
    this.#note(this.of(partition), index);
    applyContributions(this.#tables, contributions, this.#timeOf(drawnAtMs, nowMs));
  }

  /**
   * Adds somebody else's delta. False when it was older than the window: then only its records are noted.
   * @throws OtlpError when the bytes make no sense
   */
  applyForeign(head: DeltaHead, bodies: readonly DeltaBody[], nowMs: number): boolean {
    const state = this.of(head.partition);
    for (const { kind, value } of bodies) {
      const index = kind === "index" ? readIndex(Buffer.from(value).toString("latin1")) : null;
      if (index !== null) this.#note(state, index);
    }
    if (head.newestMs > 0 && head.newestMs < windowStartMs(this.#tables.shape, nowMs)) return false;
    const timeMs = this.#timeOf(head.drawnAtMs, nowMs);
    for (const { kind, value } of bodies) if (kind === "metrics") this.#reader.read(value, timeMs);
    return true;
  }

  #note({ accepted }: PartitionState, { sequences, dropped }: DeltaIndex): void {
    for (const source of sequences) accepted.add(source);
    for (const report of dropped) accepted.addDropped(report);
  }

  /** What an owner whose clock is a little ahead has taken, everybody takes. */
  #timeOf(drawnAtMs: number, nowMs: number): number {
    return Math.max(nowMs, Math.min(drawnAtMs, nowMs + this.#tables.shape.paneMs));
  }
}
