import type { DroppedReport } from "../ingest/dropped-reports.ts";
import { SequenceRanges } from "./sequence-ranges.ts";

/** A restarted source may still have records of its former life under way. */
const EPOCHS_PER_SOURCE = 2;

/** Sequences of one life of a source. */
export interface SourceSequences {
  readonly source: string;
  readonly epoch: string;
  /** From-to, inclusive. */
  readonly ranges: readonly (readonly [from: number, to: number])[];
}

interface Life {
  readonly epoch: string;
  readonly sequences: SequenceRanges;
  dropped: number;
}

/**
 * Which records of one input partition the accepted deltas contain. Every replica that read the same log has
 * the same.
 */
export class AcceptedRecords {
  readonly #maxSources: number;
  /** By source, least recently heard of first; newest life first. */
  readonly #sources = new Map<string, Life[]>();

  constructor(maxSources: number) {
    this.#maxSources = maxSources;
  }

  get sources(): number {
    return this.#sources.size;
  }

  has(source: string, epoch: string, sequence: number): boolean {
    return this.#known(source, epoch)?.sequences.has(sequence) ?? false;
  }

  /** The highest sequence; null when that life of the source wasn't heard of. */
  highest(source: string, epoch: string): number | null {
    const highest = this.#known(source, epoch)?.sequences.highest ?? -1;
    return highest < 0 ? null : highest;
  }

  /** How many records its publisher said it dropped. */
  dropped(source: string, epoch: string): number {
    return this.#known(source, epoch)?.dropped ?? 0;
  }

  add({ source, epoch, ranges }: SourceSequences): void {
    const { sequences } = this.#life(source, epoch);
    for (const [from, to] of ranges) sequences.add(from, to);
  }

  addDropped({ source, epoch, dropped }: DroppedReport): void {
    const life = this.#life(source, epoch);
    life.dropped = Math.max(life.dropped, dropped);
  }

  #known(source: string, epoch: string): Life | undefined {
    return this.#sources.get(source)?.find((life) => life.epoch === epoch);
  }

  #life(source: string, epoch: string): Life {
    const lives = this.#sources.get(source) ?? [];
    this.#sources.delete(source);
    this.#sources.set(source, lives);
    if (this.#sources.size > this.#maxSources) this.#sources.delete(this.#sources.keys().next().value!);
    let life = lives.find((known) => known.epoch === epoch);
    if (life === undefined) {
      life = { epoch, sequences: new SequenceRanges(), dropped: 0 };
      lives.unshift(life);
      if (lives.length > EPOCHS_PER_SOURCE) lives.pop();
    }
    return life;
  }
}
