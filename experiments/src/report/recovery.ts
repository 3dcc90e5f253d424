// Recovery time after a change until the p95 is within 10 % of the new optimum's.
import type { CellResult, SeriesPoint } from "../run/result.ts";
import type { ContenderId, Labels, Scenario } from "../scenario/model.ts";
import { median as medianOf } from "@isochrone/primitives";
import { measuredOf } from "./pairs.ts";

export interface Recovery {
  readonly point: string;
  readonly labels: Labels;
  readonly contender: ContenderId;
  /** Seconds per trial from the first change to the end of the first lasting good interval; null: never. */
  readonly seconds: readonly (number | null)[];
  /** Median; null unless most trials recovered. */
  readonly median: number | null;
  readonly target: number;
}

/** Limit as a multiple of the new optimum. */
export const CLOSE = 1.1;
/** Consecutive intervals above the limit that count as a relapse; a single one may be chance. */
const RELAPSE = 2;
/** Minimum good intervals; a single one may be chance. */
const LEAST_GOOD = 2;

/** Empty without changes, with ongoing changes, or without a known new optimum. */
export function recoveriesOf(scenario: Scenario, results: readonly CellResult[]): readonly Recovery[] {
  return scenario.points.flatMap((point) => {
    const [first] = point.changes;
    if (first === undefined || point.changes.some(({ atSeconds }) => atSeconds !== first.atSeconds))
      return [];
    const ofPoint = results.filter((result) => result.point === point.id);
    const settled = ofPoint.flatMap(({ measured }) => measured?.settledP95 ?? []);
    if (settled.length === 0) return [];
    const target = medianOf(settled)!;
    return scenario.contenders.flatMap((contender): Recovery[] => {
      const own = measuredOf(ofPoint, contender);
      if (own.length === 0) return [];
      const seconds = own.map(({ measured }) => returned(measured.series, first.atSeconds, target));
      const back = seconds.filter((value) => value !== null);
      const isMostly = back.length * 2 > seconds.length;
      return [
        {
          point: point.id,
          labels: point.labels,
          contender,
          seconds,
          median: isMostly ? medianOf(seconds.map((value) => value ?? Number.POSITIVE_INFINITY)) : null,
          target,
        },
      ];
    });
  });
}

/** Formats the median without decimals, because intervals last seconds. */
export function medianText({ median: seconds }: Recovery): string {
  return seconds === null ? "not within the run" : `${Math.round(seconds)} s`;
}

function returned(series: readonly SeriesPoint[], changedAt: number, target: number): number | null {
  const after = series.filter(({ atSeconds }) => atSeconds > changedAt);
  const isGood = after.map(({ p95 }) => p95 <= target * CLOSE);
  const at = isGood.findIndex((isGoodHere, index) => isGoodHere && isLasting(isGood.slice(index)));
  return at < 0 ? null : after[at]!.atSeconds - changedAt;
}

/** Requires the run to end well: a later relapse is no recovery. */
function isLasting(isGood: readonly boolean[]): boolean {
  const hasRelapse = isGood.some((_, index) => {
    const next = isGood.slice(index, index + RELAPSE);
    return next.length === RELAPSE && !next.includes(true);
  });
  return !hasRelapse && isGood.filter(Boolean).length >= LEAST_GOOD;
}
