import { DOMAIN_MAX, DOMAIN_MIN, MAX_INDEX, MIN_INDEX, SCALE, bucketIndex } from "./exponential-index.ts";
import type { ExponentialHistogramData } from "./otlp/model.ts";

/** The finest scale of OTLP's reference implementations. */
const MAX_SCALE = 20;
/** Maximum buckets, above any exporter's (160 or 320) and the whole domain at scale 6. */
const MAX_BUCKETS = 16_384;
/** Other implementations round logarithms, so boundary values may be one bucket off. */
const INDEX_TOLERANCE = 1;
/** Tolerance, because sums depend on the order of addition. */
const SUM_TOLERANCE = 1e-6;

/** Bucket indices at scale 6; low > high if all buckets are empty. */
interface IndexRange {
  readonly low: number;
  readonly high: number;
}

/** Returns the occupied buckets at scale 6. Returns null for invalid or contradictory numbers. */
export function checkHistogramData(data: ExponentialHistogramData): IndexRange | null {
  if (!hasSaneHead(data)) return null;
  const range = occupiedRange(data);
  if (range === null) return null;
  if (data.count === 0) return range;
  return extremesFit(data, range) && sumFits(data) ? range : null;
}

function hasSaneHead(data: ExponentialHistogramData): boolean {
  return (
    Number.isInteger(data.scale) &&
    data.scale >= SCALE &&
    data.scale <= MAX_SCALE &&
    Number.isSafeInteger(data.offset) &&
    isCount(data.zeroCount) &&
    isCount(data.count) &&
    isCount(data.bucketCounts.length) &&
    data.bucketCounts.length <= MAX_BUCKETS
  );
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function occupiedRange(data: ExponentialHistogramData): IndexRange | null {
  const { bucketCounts, offset } = data;
  const perBucket = 2 ** (data.scale - SCALE);
  let total = data.zeroCount;
  let first = -1;
  let last = -1;
  for (let i = 0; i < bucketCounts.length; i++) {
    const count = bucketCounts[i]!;
    if (count === 0) continue;
    if (!isCount(count)) return null;
    if (first < 0) first = i;
    last = i;
    total += count;
  }
  if (total !== data.count) return null;
  if (first < 0) return { low: 0, high: -1 };
  const low = Math.floor((offset + first) / perBucket);
  const high = Math.floor((offset + last) / perBucket);
  return low < MIN_INDEX || high > MAX_INDEX ? null : { low, high };
}

function extremesFit(data: ExponentialHistogramData, range: IndexRange): boolean {
  const { min, max } = data;
  if (!(min >= 0 && min <= max && max <= DOMAIN_MAX)) return false;
  if (range.low > range.high) return max < DOMAIN_MIN;
  if (max < DOMAIN_MIN || Math.abs(bucketIndex(max) - range.high) > INDEX_TOLERANCE) return false;
  if (data.zeroCount > 0) return min < DOMAIN_MIN || bucketIndex(min) <= range.low + INDEX_TOLERANCE;
  return min >= DOMAIN_MIN && Math.abs(bucketIndex(min) - range.low) <= INDEX_TOLERANCE;
}

function sumFits(data: ExponentialHistogramData): boolean {
  const low = data.min * data.count * (1 - SUM_TOLERANCE);
  const high = data.max * data.count * (1 + SUM_TOLERANCE);
  return data.sum >= low && data.sum <= high;
}
