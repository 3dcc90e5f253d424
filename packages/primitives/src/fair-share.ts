/**
 * Max-min fair level: each demand gets at most this, and all together at most `total`. Infinity if there is
 * enough for all.
 */
export function fairLevel(demands: Iterable<number>, total: number): number {
  const sorted = Float64Array.from(demands).sort();
  let left = total;
  for (const [at, demand] of sorted.entries()) {
    const share = left / (sorted.length - at);
    if (demand > share) return share;
    left -= demand;
  }
  return Infinity;
}
