import type { CumulativeBuckets } from "./buckets.ts";
import { ByteKeys } from "./byte-keys.ts";
import { grown, move } from "./columns.ts";

const FIRST_SLOTS = 64;

export const PART = { a: 1, b: 2, both: 3, bucket: 4 } as const;

/** Metric label `reason` of isochrone_collector_rows_unused_total. */
export const UNUSED_ROWS = [
  "unread_metric",
  /** No graph uses the row, or another row contains it. */
  "not_needed",
  /** A part that isn't used, such as a summary's quantiles. */
  "not_a_value",
  "repeated",
] as const;
export type UnusedRow = (typeof UNUSED_ROWS)[number];

/** Rows by family and labels, with previous and current values. Histograms: count in `a`, sum in `b`. */
export class RowTable {
  readonly keys: ByteKeys;
  series = new Int32Array(FIRST_SLOTS);
  a = new Float64Array(FIRST_SLOTS);
  b = new Float64Array(FIRST_SLOTS);
  lastA = new Float64Array(FIRST_SLOTS);
  lastB = new Float64Array(FIRST_SLOTS);
  timeMs = new Float64Array(FIRST_SLOTS);
  /** NaN if unknown. */
  createdMs = new Float64Array(FIRST_SLOTS);
  lastCreatedMs = new Float64Array(FIRST_SLOTS);
  /** PART bits on the current page; 0: absent. */
  parts = new Uint8Array(FIRST_SLOTS);
  /** Current page, for histograms with kept buckets. */
  readonly buckets = new Map<number, CumulativeBuckets>();

  constructor(seed: number) {
    this.keys = new ByteKeys(seed);
  }

  add(owner: number, bytes: Uint8Array, start: number, end: number, series: number): number {
    const slot = this.keys.add(owner, bytes, start, end);
    if (slot === this.series.length) this.#grow(slot * 2);
    this.series[slot] = series;
    this.parts[slot] = 0;
    this.createdMs[slot] = NaN;
    return slot;
  }

  begin(): void {
    const { size } = this.keys;
    this.parts.fill(0, 0, size);
    this.createdMs.fill(NaN, 0, size);
    this.buckets.clear();
  }

  /** Call after a page: it becomes the previous one; absent rows are dropped. */
  close(series: Int32Array | null): void {
    const { size } = this.keys;
    let gone = 0;
    for (let slot = 0; slot < size; slot++) {
      this.lastA[slot] = this.a[slot]!;
      this.lastB[slot] = this.b[slot]!;
      this.lastCreatedMs[slot] = this.createdMs[slot]!;
      if (series !== null) this.series[slot] = series[this.series[slot]!]!;
      if (this.parts[slot] === 0) gone++;
    }
    if (gone === 0) return;
    const renumbered = this.keys.retain(this.parts);
    for (const column of [this.series, this.lastA, this.lastB, this.lastCreatedMs]) move(column, renumbered);
  }

  #grow(length: number): void {
    this.series = grown(this.series, length);
    this.a = grown(this.a, length);
    this.b = grown(this.b, length);
    this.lastA = grown(this.lastA, length);
    this.lastB = grown(this.lastB, length);
    this.timeMs = grown(this.timeMs, length);
    this.createdMs = grown(this.createdMs, length);
    this.lastCreatedMs = grown(this.lastCreatedMs, length);
    this.parts = grown(this.parts, length);
  }
}
