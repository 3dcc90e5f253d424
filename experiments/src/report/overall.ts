// What is said of all points together. Means of contenders can be held against each other only where they are
// over the same points: whoever has no placement at the hard ones would look good by that.
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

/** Contenders that are compared, over the points that all of them have. */
export interface Standing {
  /** In the scenario's order. */
  readonly contenders: readonly ContenderId[];
  /** Those at which each of the contenders has a measurement in every trial. */
  readonly points: readonly string[];
  /** Against the baseline. */
  readonly overall: readonly Overall[];
}

/** A contender against another one, over points. */
export interface Overall {
  readonly contender: ContenderId;
  readonly other: ContenderId;
  /**
   * Change of the p95, each point weighing the same: the geometric mean of ratios, to which twice and half
   * are equally far.
   */
  readonly p95: Estimate;
  /** The same of the mean response time. */
  readonly mean: Estimate;
  /** Of the points' changes of the p95: one collapse doesn't decide it. */
  readonly median: number;
  /** Of logarithms of ratios, one per point and trial. */
  readonly test: SignedRank;
  readonly pairs: number;
  /** The same of the points' means over trials, one per point. */
  readonly pointTest: SignedRank;
  readonly points: number;
  /** Points at which the p95 is lower, higher, and not told apart, by Holm's correction over the points. */
  readonly lower: number;
  readonly higher: number;
  readonly undecided: number;
  /** Each point by itself. */
  readonly uncorrected: { readonly lower: number; readonly higher: number };
  /** The smallest p that a point can have with its trials, all in one direction. */
  readonly leastPointP: number;
}

/** Below it a point counts as decided. */
export const DECIDED = 0.05;

/**
 * The first standing is that of those that schedule. Integer programming solves small points alone: where the
 * optimum lacks some, it has a standing with the others of its own, so that the others' figures don't rest on
 * what it can solve.
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

/** How many points a contender lacks, or has some trials alone of; without those that lack none. */
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

/** With a trial missing, the mean over points would be one over other points in that trial. */
function isComplete(results: readonly CellResult[], contender: ContenderId): boolean {
  return measuredOf(results, contender).length === new Set(results.map(({ trial }) => trial)).size;
}

/**
 * One contender against each of the others, not by way of the baseline: each over the points of the first
 * standing that has both.
 */
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

/** Of a two-sided signed-rank test of so many pairs, all of which differ in one direction. */
export function leastP(pairs: number): number {
  return Math.min(1, 2 ** (1 - pairs));
}
