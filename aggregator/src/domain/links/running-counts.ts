import { Distribution, type ExponentialHistogramData } from "@isochrone/telemetry";

const SCALE = 6;
const SLACK = 8;
const UINT32_MAX = 0xffff_ffff;

export interface Extremes {
  readonly min: number;
  readonly max: number;
}

/**
 * Bucket counts of a whole window, updated as panes come and go. Integer counts can be subtracted exactly,
 * which saves merging all panes of every link: 30 times the work.
 */
export class RunningCounts {
  #counts = new Uint32Array(0);
  #first = 0;
  #zeroCount = 0;
  #count = 0;
  #sum = 0;
  /** Null: a subtracted histogram may have contained an extreme. */
  #extremes: Extremes | null = { min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY };

  get count(): number {
    return this.#count;
  }

  /** Requires data that a Distribution accepts. Empty buckets around the counts take no memory. */
  add(data: ExponentialHistogramData): void {
    const { offset, bucketCounts } = data;
    const fold = 2 ** (data.scale - SCALE);
    const [low, high] = occupied(bucketCounts);
    if (low <= high) this.#cover(Math.floor((offset + low) / fold), Math.floor((offset + high) / fold));
    for (let i = low; i <= high; i++) {
      const count = bucketCounts[i]!;
      if (count !== 0) this.#counts[Math.floor((offset + i) / fold) - this.#first]! += count;
    }
    this.#zeroCount += data.zeroCount;
    this.#count += data.count;
    this.#sum += data.sum;
    if (data.count > 0) this.#stretch(data);
  }

  /** Subtracts data that was added at scale 6. */
  subtract(data: ExponentialHistogramData): void {
    const shift = data.offset - this.#first;
    const { bucketCounts } = data;
    for (let i = 0; i < bucketCounts.length; i++) this.#counts[i + shift]! -= bucketCounts[i]!;
    this.#zeroCount -= data.zeroCount;
    this.#count -= data.count;
    this.#sum -= data.sum;
    const extremes = this.#extremes;
    if (extremes !== null && (data.min <= extremes.min || data.max >= extremes.max)) this.#extremes = null;
    if (this.#count === 0) this.#clear();
  }

  /**
   * @param findExtremes called if they are unknown
   * @returns null if empty, or above 2^32 - 1 samples, when a bucket may overflow
   */
  toDistribution(findExtremes: () => Extremes): Distribution | null {
    if (this.#count === 0 || this.#count > UINT32_MAX) return null;
    this.#extremes ??= findExtremes();
    const { min, max } = this.#extremes;
    const counts = this.#counts;
    const [low, high] = occupied(counts);
    return Distribution.ofChecked({
      scale: SCALE,
      offset: this.#first + low,
      bucketCounts: counts.slice(low, high + 1),
      zeroCount: this.#zeroCount,
      count: this.#count,
      sum: this.#sum,
      min,
      max,
    });
  }

  #stretch({ min, max }: Extremes): void {
    const extremes = this.#extremes;
    if (extremes === null || (min >= extremes.min && max <= extremes.max)) return;
    this.#extremes = { min: Math.min(min, extremes.min), max: Math.max(max, extremes.max) };
  }

  #clear(): void {
    this.#counts = new Uint32Array(0);
    this.#sum = 0;
    this.#extremes = { min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY };
  }

  #cover(low: number, high: number): void {
    const { length } = this.#counts;
    const last = this.#first + length - 1;
    if (length > 0 && low >= this.#first && high <= last) return;
    const first = length > 0 && low >= this.#first ? this.#first : low - (length > 0 ? SLACK : 0);
    const end = length > 0 && high <= last ? last : high + (length > 0 ? SLACK : 0);
    const grown = new Uint32Array(end - first + 1);
    if (length > 0) grown.set(this.#counts, this.#first - first);
    this.#counts = grown;
    this.#first = first;
  }
}

function occupied(counts: ArrayLike<number>): [low: number, high: number] {
  let low = 0;
  let high = counts.length - 1;
  while (low <= high && counts[low] === 0) low++;
  while (high >= low && counts[high] === 0) high--;
  return [low, high];
}
