/** Holm (1979): adjusted p-values, in input order. Controls the family-wise error rate. */
export function holm(ps: readonly number[]): readonly number[] {
  const order = ps.map((_, index) => index).sort((a, b) => ps[a]! - ps[b]!);
  const corrected = Array.from<number>({ length: ps.length });
  let least = 0;
  for (const [rank, index] of order.entries()) {
    // Adjusted values must not decrease with p.
    least = Math.max(least, Math.min(1, ps[index]! * (ps.length - rank)));
    corrected[index] = least;
  }
  return corrected;
}
