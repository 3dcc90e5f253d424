import type { EncodedAttributes } from "@isochrone/telemetry";
import type { BucketCounts } from "./buckets.ts";
import { ByteKeys } from "./byte-keys.ts";
import { grown, move } from "./columns.ts";

const FIRST_SLOTS = 64;

/**
 * Published series of a target: sums of rows with equal kept labels. A counter's `base` holds the counts of
 * rows that vanished or restarted, so that the sum never falls while a row continues. Numbers: value in `a`.
 * Histograms: count in `a`, sum in `b`.
 */
export class SeriesTable {
  readonly keys: ByteKeys;
  baseA = new Float64Array(FIRST_SLOTS);
  baseB = new Float64Array(FIRST_SLOTS);
  totalA = new Float64Array(FIRST_SLOTS);
  totalB = new Float64Array(FIRST_SLOTS);
  sumA = new Float64Array(FIRST_SLOTS);
  sumB = new Float64Array(FIRST_SLOTS);
  /** Counts of rows that vanished or restarted on the current page. */
  lostA = new Float64Array(FIRST_SLOTS);
  lostB = new Float64Array(FIRST_SLOTS);
  /** 0 if unknown. */
  startMs = new Float64Array(FIRST_SLOTS);
  timeMs = new Float64Array(FIRST_SLOTS);
  /** Earliest creation time of its rows; NaN if one is unknown. */
  createdMs = new Float64Array(FIRST_SLOTS);
  ofPod = new Uint8Array(FIRST_SLOTS);
  rows = new Int32Array(FIRST_SLOTS);
  continuing = new Int32Array(FIRST_SLOTS);
  /** Current page, for histograms with kept buckets. */
  readonly buckets = new Map<number, BucketCounts>();

  constructor(seed: number) {
    this.keys = new ByteKeys(seed);
  }

  attributesOf(slot: number): EncodedAttributes {
    const { keys } = this;
    return { bytes: keys.bytes, start: keys.startOf(slot), end: keys.endOf(slot) };
  }

  open(owner: number, view: DataView, bytes: Uint8Array, end: number, isOfPod: boolean): number {
    const known = this.keys.find(owner, view, 0, end);
    if (known >= 0) return known;
    const slot = this.keys.add(owner, bytes, 0, end);
    if (slot === this.rows.length) this.#grow(slot * 2);
    this.baseA[slot] = 0;
    this.baseB[slot] = 0;
    this.totalA[slot] = 0;
    this.totalB[slot] = 0;
    this.startMs[slot] = 0;
    this.ofPod[slot] = isOfPod ? 1 : 0;
    return slot;
  }

  beginSums(): void {
    const { size } = this.keys;
    for (const column of [this.sumA, this.sumB, this.lostA, this.lostB, this.timeMs]) column.fill(0, 0, size);
    this.createdMs.fill(Infinity, 0, size);
    this.rows.fill(0, 0, size);
    this.continuing.fill(0, 0, size);
    this.buckets.clear();
  }

  /** Drops series without a row on the page. @returns the new slots */
  retainLive(): Int32Array {
    const live = new Uint8Array(this.keys.size);
    for (let slot = 0; slot < live.length; slot++) live[slot] = this.rows[slot]! > 0 ? 1 : 0;
    const renumbered = this.keys.retain(live);
    // Other columns are rewritten with each page.
    for (const column of [this.baseA, this.baseB, this.totalA, this.totalB, this.startMs, this.ofPod])
      move(column, renumbered);
    return renumbered;
  }

  #grow(length: number): void {
    this.baseA = grown(this.baseA, length);
    this.baseB = grown(this.baseB, length);
    this.totalA = grown(this.totalA, length);
    this.totalB = grown(this.totalB, length);
    this.sumA = grown(this.sumA, length);
    this.sumB = grown(this.sumB, length);
    this.lostA = grown(this.lostA, length);
    this.lostB = grown(this.lostB, length);
    this.startMs = grown(this.startMs, length);
    this.timeMs = grown(this.timeMs, length);
    this.createdMs = grown(this.createdMs, length);
    this.ofPod = grown(this.ofPod, length);
    this.rows = grown(this.rows, length);
    this.continuing = grown(this.continuing, length);
  }
}
