import { SequenceTracker } from "@isochrone/telemetry";
import type { RecordSequences } from "../ingest/record-sources.ts";
import type { AcceptedRecords, SourceSequences } from "./accepted-records.ts";
import { SequenceRanges } from "./sequence-ranges.ts";

/**
 * Tells repeats while a partition is owned: by what was accepted, of whomever, and by what this owner has
 * taken since. It goes when the ownership ends, and with it whatever was taken and never accepted.
 */
export class OwnedSequences implements RecordSequences {
  readonly #accepted: AcceptedRecords;
  readonly #maxSources: number;
  readonly #taken: SequenceTracker;
  /** By epoch and source: lives that #taken has heard of. */
  readonly #heard = new Set<string>();
  #pending = new Map<
    string,
    { readonly source: string; readonly epoch: string; readonly ranges: SequenceRanges }
  >();

  constructor(accepted: AcceptedRecords, maxSources: number) {
    this.#accepted = accepted;
    this.#maxSources = maxSources;
    this.#taken = new SequenceTracker({ maxSources });
  }

  get missing(): number {
    return this.#taken.missing;
  }

  get outstanding(): number {
    return this.#taken.outstanding;
  }

  observe(source: string, epoch: string, sequence: number): "new" | "duplicate" {
    if (this.#accepted.has(source, epoch, sequence)) return "duplicate";
    const id = `${epoch} ${source}`;
    if (!this.#heard.has(id)) this.#begin(id, source, epoch);
    if (this.#taken.observe(source, epoch, sequence) === "duplicate") return "duplicate";
    let pending = this.#pending.get(id);
    if (pending === undefined)
      this.#pending.set(id, (pending = { source, epoch, ranges: new SequenceRanges() }));
    pending.ranges.add(sequence);
    return "new";
  }

  /** What was taken since the last time. */
  drain(): SourceSequences[] {
    const drained = [...this.#pending.values()].map(({ source, epoch, ranges }) => ({
      source,
      epoch,
      ranges: ranges.pairs(),
    }));
    this.#pending = new Map();
    return drained;
  }

  /** So that a gap right after the last owner's last record is seen, too. */
  #begin(id: string, source: string, epoch: string): void {
    if (this.#heard.size >= 4 * this.#maxSources) this.#heard.clear();
    this.#heard.add(id);
    const highest = this.#accepted.highest(source, epoch);
    if (highest !== null) this.#taken.observe(source, epoch, highest);
  }
}
