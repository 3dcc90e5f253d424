// Wilcoxon's signed-rank test of paired differences.

export interface SignedRank {
  /** Number of unequal pairs; equal ones are dropped. */
  readonly n: number;
  /** Sum of ranks of positive differences. */
  readonly wPlus: number;
  /** Probability of a sum this small under the null hypothesis: evidence for negative differences. */
  readonly pLess: number;
  readonly pGreater: number;
  readonly pTwoSided: number;
}

/** Above it, the normal approximation suffices. */
const EXACT_UP_TO = 40;

export function signedRank(differences: readonly number[]): SignedRank {
  const found = differences.filter((difference) => difference !== 0);
  if (found.some((difference) => Number.isNaN(difference)))
    throw new RangeError("differences must be numbers, got NaN");
  const n = found.length;
  if (n === 0) return { n, wPlus: 0, pLess: 1, pGreater: 1, pTwoSided: 1 };
  const ranks = doubledRanks(found.map((difference) => Math.abs(difference)));
  let plus = 0;
  for (const [index, difference] of found.entries()) if (difference > 0) plus += ranks[index]!;
  const [pLess, pGreater] = n <= EXACT_UP_TO ? exactTails(ranks, plus) : normalTails(ranks, plus);
  return { n, wPlus: plus / 2, pLess, pGreater, pTwoSided: Math.min(1, 2 * Math.min(pLess, pGreater)) };
}

/** Doubled ranks from 1, so that mean ranks of ties are integers. */
function doubledRanks(values: readonly number[]): number[] {
  const order = values.map((_, index) => index).sort((a, b) => values[a]! - values[b]!);
  const ranks = Array.from<number>({ length: values.length });
  for (let start = 0; start < order.length;) {
    let end = start;
    while (end + 1 < order.length && values[order[end + 1]!] === values[order[start]!]) end += 1;
    for (let at = start; at <= end; at += 1) ranks[order[at]!] = start + end + 2;
    start = end + 1;
  }
  return ranks;
}

/** Enumerates all 2^n sign assignments: shares with a sum as small, and as large. */
function exactTails(ranks: readonly number[], plus: number): readonly [number, number] {
  const total = ranks.reduce((sum, rank) => sum + rank, 0);
  const share = new Float64Array(total + 1);
  share[0] = 1;
  for (const rank of ranks)
    for (let sum = total; sum >= 0; sum -= 1)
      share[sum] = share[sum]! / 2 + (sum >= rank ? share[sum - rank]! / 2 : 0);
  let less = 0;
  let greater = 0;
  for (let sum = 0; sum <= total; sum += 1) {
    if (sum <= plus) less += share[sum]!;
    if (sum >= plus) greater += share[sum]!;
  }
  return [Math.min(1, less), Math.min(1, greater)];
}

function normalTails(ranks: readonly number[], plus: number): readonly [number, number] {
  const total = ranks.reduce((sum, rank) => sum + rank, 0);
  // Var(sum of rank x coin) = sum of rank^2 / 4, also with ties.
  const deviation = Math.sqrt(ranks.reduce((sum, rank) => sum + rank * rank, 0) / 4);
  const z = (correction: number): number => (plus - total / 2 + correction) / deviation;
  return [normalBelow(z(1)), 1 - normalBelow(z(-1))];
}

/** Standard normal distribution function by Abramowitz and Stegun 26.2.17; error below 1e-7. */
function normalBelow(z: number): number {
  const t = 1 / (1 + 0.231_641_9 * Math.abs(z));
  const series =
    t *
    (0.319_381_53 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
  const above = (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * series;
  return z >= 0 ? 1 - above : above;
}
