import { seededRandom } from "@isochrone/runtime";
import { estimateChange, estimateMean, type Estimate } from "../statistics/bootstrap.ts";

type Figured<K extends string> = Readonly<Record<K, number>> & {
  /** Absent if the scenario has no axes. */
  readonly point?: string;
  readonly contender: string;
};

const SEED = 1;

/** @param point null: all */
export function valuesOf<K extends string>(
  results: readonly Figured<K>[],
  point: string | null,
  contender: string,
  key: K,
): number[] {
  return results
    .filter((each) => (point === null || each.point === point) && each.contender === contender)
    .map((each) => each[key]);
}

export function meanOf<K extends string>(
  results: readonly Figured<K>[],
  point: string | null,
  contender: string,
  key: K,
): Estimate {
  return estimateMean(valuesOf(results, point, contender, key), seededRandom(SEED));
}

/** Relative change against the other contender, paired by run. Null: one of them has no runs. */
export function changeOf<K extends string>(
  results: readonly Figured<K>[],
  point: string | null,
  key: K,
  contender: string,
  than: string,
): Estimate | null {
  const [own, other] = [valuesOf(results, point, contender, key), valuesOf(results, point, than, key)];
  if (own.length === 0 || own.length !== other.length) return null;
  return estimateChange(own, other, seededRandom(SEED));
}
