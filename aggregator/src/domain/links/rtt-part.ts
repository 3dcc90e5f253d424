import { checkHistogramData, Distribution, type ExponentialHistogramData } from "@isochrone/telemetry";
import { chunkFor, HistogramReading, type HistogramChunk } from "./packed-histograms.ts";

const SCALE = 6;
const MAX_KEPT_COUNT = 0xffff_ffff;

const NOTHING: ExponentialHistogramData = new Distribution().toData();
/** Reused by `toData` for packed histograms. */
const reading = new HistogramReading();

export interface Quartiles {
  readonly count: number;
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

/**
 * Round-trip times of one pane of a link. Usually a single histogram, which stays packed: as objects, these
 * were most of the memory and of the young generation's garbage collection.
 */
export class RttPart {
  #chunk: HistogramChunk | null = null;
  #at = 0;
  #merged: Distribution | null = null;

  static packed(chunk: HistogramChunk, at: number): RttPart {
    const part = new RttPart();
    part.#chunk = chunk;
    part.#at = at;
    return part;
  }

  /** Chunk of the packed histogram; null: empty or merged. */
  get chunk(): HistogramChunk | null {
    return this.#chunk;
  }

  get at(): number {
    return this.#at;
  }

  /** True after an addition to a histogram; it then takes an object's memory until packed. */
  get isMerged(): boolean {
    return this.#merged !== null;
  }

  /** Returns false for inconsistent data, and takes none of it. */
  add(data: ExponentialHistogramData): boolean {
    if (this.#chunk !== null || this.#merged !== null) return this.#merge(data);
    if (data.scale !== SCALE || !(data.count <= MAX_KEPT_COUNT)) return this.#merge(data);
    const range = checkHistogramData(data);
    if (range === null) return false;
    if (data.count > 0) this.#pack(data, range);
    return true;
  }

  addPart(part: RttPart): void {
    if (this.#chunk !== null || this.#merged !== null) {
      // Open this part first, because both share the reading object.
      this.#open();
      this.#merge(part.toData());
    } else if (part.#merged !== null) this.add(part.#merged.toData());
    else {
      this.#chunk = part.#chunk;
      this.#at = part.#at;
    }
  }

  /** Valid until the next call on any part. */
  toData(): ExponentialHistogramData {
    if (this.#merged !== null) return this.#merged.toData();
    if (this.#chunk === null) return NOTHING;
    this.#chunk.read(this.#at, reading);
    return reading;
  }

  extremes(): { readonly min: number; readonly max: number } | null {
    if (this.#chunk !== null) return { min: this.#chunk.min(this.#at), max: this.#chunk.max(this.#at) };
    const { min = null, max = null } = this.#merged ?? {};
    return min === null || max === null ? null : { min, max };
  }

  /** Nearest-rank quartiles as middles of buckets; null if empty. Allocates no Distribution. */
  quartiles(): Quartiles | null {
    const data = this.toData();
    const { count } = data;
    if (count === 0) return null;
    const { low, middle, high } = quartileSlotsOf(data);
    return { count, low: valueOf(data, low), median: valueOf(data, middle), high: valueOf(data, high) };
  }

  median(): number | null {
    const data = this.toData();
    return data.count === 0 ? null : valueOf(data, slotOf(data, Math.ceil(data.count / 2)));
  }

  toDistribution(): Distribution {
    const distribution = new Distribution();
    distribution.mergeData(this.toData());
    return distribution;
  }

  pack(): void {
    const data = this.#merged?.toData();
    this.#merged = null;
    if (data !== undefined && data.count > 0)
      this.#pack(data, { low: data.offset, high: data.offset + data.bucketCounts.length - 1 });
  }

  #pack(
    data: ExponentialHistogramData,
    { low, high }: { readonly low: number; readonly high: number },
  ): void {
    const first = low > high ? 0 : low - data.offset;
    this.#chunk = chunkFor(Math.max(0, high - low + 1));
    this.#at = this.#chunk.append(data, first, first + high - low);
  }

  #merge(data: ExponentialHistogramData): boolean {
    return this.#open().mergeData(data);
  }

  #open(): Distribution {
    if (this.#merged === null) {
      this.#merged = this.toDistribution();
      this.#chunk = null;
    }
    return this.#merged;
  }
}

/** Finds the buckets of three ranks in one pass; -1: the zero bucket. */
function quartileSlotsOf({ count, zeroCount, bucketCounts }: ExponentialHistogramData): {
  low: number;
  middle: number;
  high: number;
} {
  const last = bucketCounts.length - 1;
  let below = zeroCount;
  let slot = -1;
  const reach = (rank: number): number => {
    while (below < rank && slot < last) below += bucketCounts[++slot]!;
    return slot;
  };
  return {
    low: reach(Math.ceil(count / 4)),
    middle: reach(Math.ceil(count / 2)),
    high: reach(Math.ceil((3 * count) / 4)),
  };
}

/** Finds the bucket of the rank from below; -1: the zero bucket. */
function slotOf({ zeroCount, bucketCounts }: ExponentialHistogramData, rank: number): number {
  let below = zeroCount;
  let slot = -1;
  while (below < rank && slot + 1 < bucketCounts.length) below += bucketCounts[++slot]!;
  return slot;
}

function valueOf({ offset, min, max }: ExponentialHistogramData, slot: number): number {
  return slot < 0 ? 0 : Math.min(Math.max(2 ** ((offset + slot + 0.5) / 2 ** SCALE), min), max);
}
