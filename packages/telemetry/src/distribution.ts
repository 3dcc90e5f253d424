import { samplesForPercentile } from "@isochrone/primitives";
import {
  DOMAIN_MAX,
  DOMAIN_MIN,
  MAX_INDEX,
  MIN_INDEX,
  SCALE,
  bucketIndex,
  bucketMiddle,
} from "./exponential-index.ts";
import { checkHistogramData } from "./histogram-check.ts";
import type { ExponentialHistogramData } from "./otlp/model.ts";

const FIRST_CAPACITY = 8;
const UINT32_MAX = 0xffff_ffff;
const NO_BUCKETS = new Uint32Array(0);

type Counts = Uint32Array | Float64Array;

export interface Percentiles {
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
}

/**
 * Mergeable base-2 exponential histogram as in OTLP, scale 6, for 0 and 1e-9 to 1e6 (seconds for latencies).
 * Merging is exact. Quantiles lie within 1.1 % of the exact nearest-rank ones.
 */
export class Distribution {
  #counts: Counts = NO_BUCKETS;
  #first = 0;
  #zeroCount = 0;
  #count = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;

  /**
   * Takes over unverified buckets of already checked scale-6 data.
   * @throws RangeError above 2^32 - 1 samples, where a bucket could have overflowed
   */
  static ofChecked(data: ExponentialHistogramData & { readonly bucketCounts: Uint32Array }): Distribution {
    if (data.count > UINT32_MAX)
      throw new RangeError(`counters of 32 bits hold at most ${UINT32_MAX} samples, got ${data.count}`);
    const distribution = new Distribution();
    if (data.count === 0) return distribution;
    distribution.#counts = data.bucketCounts;
    distribution.#first = data.offset;
    distribution.#zeroCount = data.zeroCount;
    distribution.#count = data.count;
    distribution.#sum = data.sum;
    distribution.#min = data.min;
    distribution.#max = data.max;
    return distribution;
  }

  get count(): number {
    return this.#count;
  }
  get sum(): number {
    return this.#sum;
  }
  /** Exact, not a bucket's bound. Null if empty. */
  get min(): number | null {
    return this.#count === 0 ? null : this.#min;
  }
  get max(): number | null {
    return this.#count === 0 ? null : this.#max;
  }
  get mean(): number | null {
    return this.#count === 0 ? null : this.#sum / this.#count;
  }

  /** Returns false and changes nothing for an invalid value or count. */
  record(value: number, count = 1): boolean {
    if (!inDomain(value) || (count !== 1 && !isPositiveCount(count))) return false;
    const total = this.#count + count;
    if (total > UINT32_MAX && !this.#widen(total)) return false;
    if (value === 0) this.#zeroCount += count;
    else this.#addToBucket(bucketIndex(value), count);
    this.#count = total;
    this.#sum += value * count;
    // Adding 0 turns -0 into 0.
    if (value < this.#min) this.#min = value + 0;
    if (value > this.#max) this.#max = value + 0;
    return true;
  }

  merge(other: Distribution): void {
    if (other.#count === 0) return;
    const total = this.#count + other.#count;
    if (total > UINT32_MAX && !this.#widen(total)) {
      throw new RangeError(`a Distribution holds at most 2^53 - 1 samples, the merge has ${total}`);
    }
    const buckets = other.#usedRange();
    if (buckets !== null) {
      this.#cover(buckets.low, buckets.high);
      const from = other.#counts;
      const into = this.#counts;
      const shift = other.#first - this.#first;
      const end = buckets.high - other.#first;
      for (let slot = buckets.low - other.#first; slot <= end; slot++) into[slot + shift]! += from[slot]!;
    }
    this.#zeroCount += other.#zeroCount;
    this.#count = total;
    this.#sum += other.#sum;
    this.#min = Math.min(this.#min, other.#min);
    this.#max = Math.max(this.#max, other.#max);
  }

  /**
   * Accepts scale 6 or finer. Returns false and changes nothing for other scales, buckets outside the domain,
   * or contradictory numbers.
   */
  mergeData(data: ExponentialHistogramData): boolean {
    const range = checkHistogramData(data);
    if (range === null) return false;
    if (data.count === 0) return true;
    const total = this.#count + data.count;
    if (total > UINT32_MAX && !this.#widen(total)) return false;
    if (range.low <= range.high) {
      this.#cover(range.low, range.high);
      this.#addBuckets(data);
    }
    this.#zeroCount += data.zeroCount;
    this.#count = total;
    this.#sum += data.sum;
    this.#min = Math.min(this.#min, data.min);
    this.#max = Math.max(this.#max, data.max);
    return true;
  }

  clone(): Distribution {
    const copy = new Distribution();
    copy.merge(this);
    return copy;
  }

  clear(): void {
    this.#counts = NO_BUCKETS;
    this.#first = 0;
    this.#zeroCount = 0;
    this.#count = 0;
    this.#sum = 0;
    this.#min = Infinity;
    this.#max = -Infinity;
  }

  /** Nearest-rank quantile, clamped to [min, max]. Null if empty. @throws RangeError unless 0 <= q <= 1 */
  quantile(q: number): number | null {
    if (!(q >= 0 && q <= 1)) throw new RangeError(`quantile must be between 0 and 1, got ${q}`);
    if (this.#count === 0) return null;
    const rank = nearestRank(q, this.#count);
    // The extremes are exact.
    if (rank === 1) return this.#min;
    if (rank === this.#count) return this.#max;
    let below = this.#zeroCount;
    if (rank <= below) return 0;
    for (let slot = 0; slot < this.#counts.length; slot++) {
      below += this.#counts[slot]!;
      if (rank <= below) return Math.min(Math.max(bucketMiddle(this.#first + slot), this.#min), this.#max);
    }
    return this.#max;
  }

  shownQuantile(share: number): number | null {
    return this.#count < samplesForPercentile(share) ? null : this.quantile(share);
  }

  percentiles(): Percentiles {
    return { p50: this.shownQuantile(0.5), p90: this.shownQuantile(0.9), p99: this.shownQuantile(0.99) };
  }

  toData(): ExponentialHistogramData {
    const range = this.#usedRange();
    return {
      scale: SCALE,
      zeroCount: this.#zeroCount,
      offset: range === null ? 0 : range.low,
      bucketCounts:
        range === null
          ? NO_BUCKETS
          : this.#counts.slice(range.low - this.#first, range.high + 1 - this.#first),
      count: this.#count,
      sum: this.#sum,
      min: this.min ?? 0,
      max: this.max ?? 0,
    };
  }

  #addToBucket(index: number, count: number): void {
    let slot = index - this.#first;
    if (slot < 0 || slot >= this.#counts.length) {
      this.#cover(index, index);
      slot = index - this.#first;
    }
    this.#counts[slot]! += count;
  }

  #addBuckets(data: ExponentialHistogramData): void {
    const fold = data.scale - SCALE;
    const { bucketCounts, offset } = data;
    const counts = this.#counts;
    if (fold === 0) {
      const shift = offset - this.#first;
      const end = Math.min(bucketCounts.length, counts.length - shift);
      for (let i = Math.max(0, -shift); i < end; i++) counts[i + shift]! += bucketCounts[i]!;
      return;
    }
    for (let i = 0; i < bucketCounts.length; i++) {
      const added = bucketCounts[i]!;
      // Folding 2^k neighbours is a floor division: boundaries of scale 6 exist in finer scales.
      if (added !== 0) counts[Math.floor((offset + i) / 2 ** fold) - this.#first]! += added;
    }
  }

  #usedRange(): { low: number; high: number } | null {
    let low = 0;
    let high = this.#counts.length - 1;
    while (low <= high && this.#counts[low] === 0) low++;
    while (high >= low && this.#counts[high] === 0) high--;
    return low > high ? null : { low: low + this.#first, high: high + this.#first };
  }

  #cover(low: number, high: number): void {
    const length = this.#counts.length;
    if (length === 0) {
      this.#first = low;
      this.#counts = new Uint32Array(Math.max(high - low + 1, FIRST_CAPACITY));
      return;
    }
    const last = this.#first + length - 1;
    if (low >= this.#first && high <= last) return;
    const slack = length >> 1;
    const first = low < this.#first ? Math.max(low - slack, Math.min(low, MIN_INDEX)) : this.#first;
    const end = high > last ? Math.min(high + slack, Math.max(high, MAX_INDEX)) : last;
    const grown = this.#emptyLike(end - first + 1);
    grown.set(this.#counts, this.#first - first);
    this.#counts = grown;
    this.#first = first;
  }

  #emptyLike(length: number): Counts {
    return this.#counts instanceof Float64Array ? new Float64Array(length) : new Uint32Array(length);
  }

  /** Counters become doubles before any bucket can exceed 2^32 - 1. Returns false above 2^53 - 1. */
  #widen(total: number): boolean {
    if (total > Number.MAX_SAFE_INTEGER) return false;
    if (!(this.#counts instanceof Float64Array)) {
      this.#counts =
        this.#counts.length === 0 ? new Float64Array(FIRST_CAPACITY) : Float64Array.from(this.#counts);
    }
    return true;
  }
}

function inDomain(value: number): boolean {
  return (value >= DOMAIN_MIN && value <= DOMAIN_MAX) || value === 0;
}

function isPositiveCount(count: number): boolean {
  return count > 0 && Number.isSafeInteger(count);
}

function nearestRank(q: number, count: number): number {
  const product = q * count;
  const nearest = Math.round(product);
  const rank = Math.abs(product - nearest) <= 1e-12 * count ? nearest : Math.ceil(product);
  return Math.min(Math.max(rank, 1), count);
}
