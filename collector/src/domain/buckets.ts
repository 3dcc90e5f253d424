/** Cumulative buckets of a histogram as its lines give them. */
export interface CumulativeBuckets {
  readonly bounds: number[];
  readonly cumulative: number[];
}

/** Upper bounds, ascending, without infinity; the counts have one entry more and are not cumulative. */
export interface BucketCounts {
  readonly explicitBounds: readonly number[];
  readonly bucketCounts: readonly number[];
}

/** Counts per bucket; null when the lines don't fit together. */
export function bucketCountsOf(
  { bounds, cumulative }: CumulativeBuckets,
  count: number,
): BucketCounts | null {
  const finite = bounds
    .map((bound, index) => ({ bound, cumulative: cumulative[index]! }))
    .filter(({ bound }) => bound !== Infinity)
    .sort((a, b) => a.bound - b.bound);
  const bucketCounts: number[] = [];
  let before = 0;
  let last = -Infinity;
  for (const bucket of [...finite, { bound: Infinity, cumulative: count }]) {
    if (!(bucket.bound > last) || !Number.isSafeInteger(bucket.cumulative) || bucket.cumulative < before)
      return null;
    bucketCounts.push(bucket.cumulative - before);
    before = bucket.cumulative;
    last = bucket.bound;
  }
  return { explicitBounds: finite.map(({ bound }) => bound), bucketCounts };
}
