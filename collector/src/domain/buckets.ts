export interface CumulativeBuckets {
  readonly bounds: number[];
  readonly cumulative: number[];
}

/** Ascending upper bounds without infinity; the counts are per bucket, with one more entry. */
export interface BucketCounts {
  readonly explicitBounds: readonly number[];
  readonly bucketCounts: readonly number[];
}

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
