// Compares over all points. Means of contenders are comparable only over the same points: a contender without
// placements at hard points would look better.
import { seededRandom } from "@isochrone/runtime";
import type { CellResult, Measured } from "../run/result.ts";
import type { ContenderId, Scenario } from "../scenario/model.ts";
import { estimateMean } from "../statistics/bootstrap.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import { holm } from "../statistics/holm.ts";
import { median } from "@isochrone/primitives";
import { mean } from "../statistics/mean.ts";
import { signedRank } from "../statistics/signed-rank.ts";
import type { SignedRank } from "../statistics/signed-rank.ts";
import { logRatio, measuredOf, pairsOf } from "./pairs.ts";
import type { Pair } from "./pairs.ts";

type ResultsByPoint = ReadonlyMap<string, readonly CellResult[]>;

export interface Standing {
  readonly contenders: readonly ContenderId[];
  /** Points at which each contender has a measurement in every trial. */
  readonly points: readonly string[];
  readonly overall: readonly Overall[];
}

export interface Overall {
  readonly contender: ContenderId;
  readonly other: ContenderId;
  /** Change of the p95: geometric mean of ratios over points, symmetric for doubling and halving. */
  readonly p95: Estimate;
  readonly mean: Estimate;
  /** Median of the points' p95 changes, robust against one outlier. */
  readonly median: number;
  /** On log ratios, one per point and trial. */
  readonly test: SignedRank;
  readonly pairs: number;
  /** On the points' means over trials, one per point. */
  readonly pointTest: SignedRank;
  readonly points: number;
  /** Points with lower, higher and undecided p95, by Holm's correction over the points. */
  readonly lower: number;
  readonly higher: number;
  readonly undecided: number;
  /** Without Holm's correction. */
  readonly uncorrected: { readonly lower: number; readonly higher: number };
  /** Smallest possible p of a point, if all its trials agree in direction. */
  readonly leastPointP: number;
}

/** Significance level of a point. */
export const DECIDED = 0.05;

/**
 * Returns the standings; the first contains the scheduling contenders. Integer programming solves only small
 * points. If the optimum lacks points, it gets a second standing, so that the first doesn't depend on it.
 */
export function standingsOf(
  scenario: Scenario,
  byPoint: ResultsByPoint,
): readonly [Standing, ...(readonly Standing[])] {
  const compared = scenario.contenders.filter((contender) => completePoints(byPoint, contender).length > 0);
  const schedulers = compared.filter((id) => id !== "optimum" || id === scenario.baseline);
  const first = standingOf(scenario, byPoint, schedulers);
  if (schedulers.length === compared.length) return [first];
  const all = standingOf(scenario, byPoint, compared);
  if (all.points.length === first.points.length) return [all];
  return all.points.length === 0 ? [first] : [first, all];
}

function standingOf(
  { baseline }: Scenario,
  byPoint: ResultsByPoint,
  contenders: readonly ContenderId[],
): Standing {
  const points = [...byPoint.keys()].filter((id) =>
    contenders.every((contender) => isComplete(byPoint.get(id)!, contender)),
  );
  return {
    contenders,
    points,
    overall: contenders
      .filter((contender) => contender !== baseline)
      .flatMap((contender) => overallOf(contender, baseline, byPoint, points) ?? []),
  };
}

/** Points that each contender lacks, fully or in some trials. Omits complete contenders. */
export function lackedPoints(
  { contenders }: Scenario,
  byPoint: ResultsByPoint,
): readonly { readonly contender: ContenderId; readonly points: number }[] {
  return contenders
    .map((contender) => ({ contender, points: byPoint.size - completePoints(byPoint, contender).length }))
    .filter(({ points }) => points > 0);
}

function completePoints(byPoint: ResultsByPoint, contender: ContenderId): readonly string[] {
  return [...byPoint].flatMap(([id, results]) => (isComplete(results, contender) ? [id] : []));
}

/** A missing trial would change the set of points behind that trial's mean. */
function isComplete(results: readonly CellResult[], contender: ContenderId): boolean {
  return measuredOf(results, contender).length === new Set(results.map(({ trial }) => trial)).size;
}

/** Compares one contender directly with each other one, over points of the first standing that has both. */
export function directlyOf(
  contender: ContenderId,
  standings: readonly Standing[],
  byPoint: ResultsByPoint,
): readonly Overall[] {
  const others = [...new Set(standings.flatMap(({ contenders }) => contenders))];
  return others
    .filter((other) => other !== contender)
    .flatMap((other) => {
      const standing = standings.find(
        ({ contenders }) => contenders.includes(contender) && contenders.includes(other),
      );
      return standing === undefined ? [] : (overallOf(contender, other, byPoint, standing.points) ?? []);
    });
}

function overallOf(
  contender: ContenderId,
  other: ContenderId,
  byPoint: ResultsByPoint,
  points: readonly string[],
): Overall | null {
  const atPoints = points
    .map((id) => byPoint.get(id)!)
    .map((results) => pairsOf(measuredOf(results, contender), measuredOf(results, other)))
    .filter(({ length }) => length > 0);
  const pairs = atPoints.flat();
  if (pairs.length === 0) return null;
  const byTrial = [...Map.groupBy(pairs, ([{ trial }]) => trial).values()];
  const average = (value: (measured: Measured) => number): Estimate =>
    estimateMean(
      byTrial.map(
        (ofTrial) =>
          geometricMean(ofTrial.map(([own, against]) => value(own.measured) / value(against.measured))) - 1,
      ),
      seededRandom(1),
    );
  const ratios = atPoints.map(ratioOfMeans);
  const tests = atPoints.map((ofPoint) => signedRank(ofPoint.map(logRatio)));
  const decided = countDirections(tests, holm(tests.map(({ pTwoSided }) => pTwoSided)));
  return {
    contender,
    other,
    p95: average(({ p95 }) => p95),
    mean: average((measured) => measured.mean),
    median: median(ratios.map((ratio) => ratio - 1)) ?? Number.NaN,
    test: signedRank(pairs.map(logRatio)),
    pairs: pairs.length,
    pointTest: signedRank(ratios.map(Math.log)),
    points: atPoints.length,
    ...decided,
    undecided: atPoints.length - decided.lower - decided.higher,
    uncorrected: countDirections(
      tests,
      tests.map(({ pTwoSided }) => pTwoSided),
    ),
    leastPointP: leastP(Math.max(...atPoints.map(({ length }) => length))),
  };
}

function geometricMean(ratios: readonly number[]): number {
  return Math.exp(mean(ratios.map(Math.log)));
}

function ratioOfMeans(pairs: readonly Pair[]): number {
  return mean(pairs.map(([own]) => own.measured.p95)) / mean(pairs.map(([, other]) => other.measured.p95));
}

function countDirections(
  tests: readonly SignedRank[],
  ps: readonly number[],
): { readonly lower: number; readonly higher: number } {
  const found = tests.filter((_, index) => ps[index]! < DECIDED);
  const lower = found.filter(({ pLess, pGreater }) => pLess < pGreater).length;
  return { lower, higher: found.length - lower };
}

/** Smallest p of a two-sided signed-rank test with this many pairs, all in one direction. */
export function leastP(pairs: number): number {
  return Math.min(1, 2 ** (1 - pairs));
}
