import { checkHistogramData, Distribution, type ExponentialHistogramData } from "@isochrone/telemetry";
import { chunkFor, HistogramReading, type HistogramChunk } from "./packed-histograms.ts";

/** Scale of every Distribution. */
const SCALE = 6;
const MAX_KEPT_COUNT = 0xffff_ffff;

const NOTHING: ExponentialHistogramData = new Distribution().toData();
/** What `toData` gives of packed ones. */
const reading = new HistogramReading();

/** What a quarter, half and three quarters of the values don't exceed, seconds. */
export interface Quartiles {
  readonly count: number;
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

/**
 * Round-trip times of a pane of a link. It is mostly one histogram: that is kept packed, because there is one
 * for each pane of each link, and as objects they were most of the memory, and most of what is copied each
 * time the collector of the young generation runs.
 */
export class RttPart {
  #chunk: HistogramChunk | null = null;
  /** Where in the chunk. */
  #at = 0;
  #merged: Distribution | null = null;

  /** What lies packed in a chunk. */
  static packed(chunk: HistogramChunk, at: number): RttPart {
    const part = new RttPart();
    part.#chunk = chunk;
    part.#at = at;
    return part;
  }

  /** The chunk that the part's one histogram lies packed in; null when it is empty or was added to. */
  get chunk(): HistogramChunk | null {
    return this.#chunk;
  }

  /** Where in the chunk. */
  get at(): number {
    return this.#at;
  }

  /** True when it was added to: what it holds takes the memory of an object until it is packed. */
  get isMerged(): boolean {
    return this.#merged !== null;
  }

  /** False, and nothing is taken, for what no Distribution takes. */
  add(data: ExponentialHistogramData): boolean {
    if (this.#chunk !== null || this.#merged !== null) return this.#merge(data);
    if (data.scale !== SCALE || !(data.count <= MAX_KEPT_COUNT)) return this.#merge(data);
    const range = checkHistogramData(data);
    if (range === null) return false;
    if (data.count > 0) this.#pack(data, range);
    return true;
  }

  /** Adds what another holds. */
  addPart(part: RttPart): void {
    if (this.#chunk !== null || this.#merged !== null) {
      // Before the other one is read: there is one object for what is read.
      this.#open();
      this.#merge(part.toData());
    } else if (part.#merged !== null) this.add(part.#merged.toData());
    else {
      this.#chunk = part.#chunk;
      this.#at = part.#at;
    }
  }

  /** Good until the next call, of any part. */
  toData(): ExponentialHistogramData {
    if (this.#merged !== null) return this.#merged.toData();
    if (this.#chunk === null) return NOTHING;
    this.#chunk.read(this.#at, reading);
    return reading;
  }

  /** Smallest and largest value; null when empty. */
  extremes(): { readonly min: number; readonly max: number } | null {
    if (this.#chunk !== null) return { min: this.#chunk.min(this.#at), max: this.#chunk.max(this.#at) };
    const { min = null, max = null } = this.#merged ?? {};
    return min === null || max === null ? null : { min, max };
  }

  /** By nearest rank, the middles of buckets; null when empty. Without the object that a Distribution is. */
  quartiles(): Quartiles | null {
    const data = this.toData();
    const { count } = data;
    if (count === 0) return null;
    const { low, middle, high } = quartileSlotsOf(data);
    return { count, low: valueOf(data, low), median: valueOf(data, middle), high: valueOf(data, high) };
  }

  /** As that of the quartiles, in less time. */
  median(): number | null {
    const data = this.toData();
    return data.count === 0 ? null : valueOf(data, slotOf(data, Math.ceil(data.count / 2)));
  }

  toDistribution(): Distribution {
    const distribution = new Distribution();
    distribution.mergeData(this.toData());
    return distribution;
  }

  /** Packs what was merged. */
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

  /** What the part holds, as something that can be added to. */
  #open(): Distribution {
    if (this.#merged === null) {
      this.#merged = this.toDistribution();
      this.#chunk = null;
    }
    return this.#merged;
  }
}

/** The buckets that hold the samples of three ranks, in one pass; -1 for the bucket of 0. */
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

/** The bucket that holds the sample of this rank, from below; -1 for the bucket of 0. */
function slotOf({ zeroCount, bucketCounts }: ExponentialHistogramData, rank: number): number {
  let below = zeroCount;
  let slot = -1;
  while (below < rank && slot + 1 < bucketCounts.length) below += bucketCounts[++slot]!;
  return slot;
}

function valueOf({ offset, min, max }: ExponentialHistogramData, slot: number): number {
  return slot < 0 ? 0 : Math.min(Math.max(2 ** ((offset + slot + 0.5) / 2 ** SCALE), min), max);
}
