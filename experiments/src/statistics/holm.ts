/**
 * Holm's correction of probabilities that are judged together: who counts those below 0.05 finds a difference
 * where there is none at all in one of twenty families at most, not in one of twenty tests. In the order
 * given.
 */
export function holm(ps: readonly number[]): readonly number[] {
  const order = ps.map((_, index) => index).sort((a, b) => ps[a]! - ps[b]!);
  const corrected = Array.from<number>({ length: ps.length });
  let least = 0;
  for (const [rank, index] of order.entries()) {
    // Never smaller than that of a smaller one.
    least = Math.max(least, Math.min(1, ps[index]! * (ps.length - rank)));
    corrected[index] = least;
  }
  return corrected;
}
