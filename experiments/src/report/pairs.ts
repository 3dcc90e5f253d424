import type { CellResult, Measured } from "../run/result.ts";
import type { ContenderId } from "../scenario/model.ts";

export type MeasuredResult = CellResult & { readonly measured: Measured };

export function measuredOf(
  results: readonly CellResult[],
  contender: ContenderId,
): readonly MeasuredResult[] {
  return results
    .filter((result): result is MeasuredResult => result.contender === contender && result.measured !== null)
    .toSorted((a, b) => a.trial - b.trial);
}

export type Pair = readonly [own: MeasuredResult, other: MeasuredResult];

export function pairsOf(own: readonly MeasuredResult[], others: readonly MeasuredResult[]): readonly Pair[] {
  const byTrial = new Map(others.map((result) => [result.trial, result]));
  return own.flatMap((result): Pair[] => {
    const other = byTrial.get(result.trial);
    return other === undefined ? [] : [[result, other]];
  });
}

/** Log ratio of the p95: symmetric for doubling and halving. */
export function logRatio([own, other]: Pair): number {
  return Math.log(own.measured.p95 / other.measured.p95);
}
