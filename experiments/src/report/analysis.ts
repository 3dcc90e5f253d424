// From results to what is said of them. Pure: the same results give the same report.
import { seededRandom } from "@isochrone/runtime";
import type { GroundName } from "../run/cells.ts";
import type { CellResult, Measured } from "../run/result.ts";
import type { ContenderId, Labels, Scenario } from "../scenario/model.ts";
import { estimateChange, estimateMean } from "../statistics/bootstrap.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import { mean, median } from "../statistics/quantile.ts";
import { signedRank } from "../statistics/signed-rank.ts";
import type { SignedRank } from "../statistics/signed-rank.ts";

export interface Analysis {
  readonly ground: GroundName;
  readonly points: readonly PointAnalysis[];
  /** Over all points, but for the baseline. */
  readonly overall: readonly Overall[];
}

export interface PointAnalysis {
  readonly id: string;
  readonly labels: Labels;
  /** In the scenario's order; those without a single measured trial have no estimates. */
  readonly contenders: readonly ContenderAtPoint[];
}

export interface ContenderAtPoint {
  readonly contender: ContenderId;
  readonly trials: number;
  /** Reasons of trials without a measurement. */
  readonly failures: readonly string[];
  readonly measured: Estimates | null;
  /** Against the baseline, trial by trial; null for itself and where there are no pairs. */
  readonly against: Comparison | null;
  /** How much more its traffic costs than the optimum's, 0.05 is 5 %; null where one of them is missing. */
  readonly aboveOptimum: number | null;
}

/** Means over trials. */
export interface Estimates {
  readonly p50: Estimate;
  readonly p95: Estimate;
  readonly mean: Estimate;
  readonly throughput: Estimate;
  readonly cost: number;
  readonly trafficCost: number;
  readonly colocated: number;
  readonly busiest: number;
  readonly nodes: number;
  readonly queueingShare: number;
  readonly failedShare: number;
  readonly moves: number;
}

export interface Comparison {
  readonly p95: Estimate;
  readonly mean: Estimate;
  readonly throughput: Estimate;
  /** Of the p95. */
  readonly test: SignedRank;
}

export interface Overall {
  readonly contender: ContenderId;
  /** Change of the p95, each point weighing the same, as the paper averages. */
  readonly p95: Estimate;
  readonly mean: Estimate;
  /** Of the points' changes of the p95: one collapse doesn't decide it. */
  readonly median: number;
  /** Of logarithms of ratios, one per point and trial. */
  readonly test: SignedRank;
  readonly pairs: number;
  /** Points at which the p95 is lower, higher, and not told apart from the baseline's (95 % interval). */
  readonly lower: number;
  readonly higher: number;
  readonly equal: number;
}

export type MeasuredResult = CellResult & { readonly measured: Measured };

export function analyse(scenario: Scenario, results: readonly CellResult[]): readonly Analysis[] {
  return [...Map.groupBy(results, ({ ground }) => ground)].map(([ground, ofGround]) => {
    const byPoint = Map.groupBy(ofGround, ({ point }) => point);
    const points = [...byPoint].map(([id, ofPoint]) => analysePoint(scenario, id, ofPoint));
    return {
      ground,
      points,
      overall: scenario.contenders
        .filter((contender) => contender !== scenario.baseline)
        .flatMap((contender) => overallOf(scenario, contender, byPoint, points) ?? []),
    };
  });
}

function analysePoint(scenario: Scenario, id: string, results: readonly CellResult[]): PointAnalysis {
  const measured = (contender: ContenderId): readonly MeasuredResult[] => measuredOf(results, contender);
  const optimum = measured("optimum");
  return {
    id,
    labels: results[0]!.labels,
    contenders: scenario.contenders.map((contender): ContenderAtPoint => {
      const own = measured(contender);
      return {
        contender,
        trials: results.filter((result) => result.contender === contender).length,
        failures: results.flatMap((result) =>
          result.contender === contender && result.failure !== null ? [result.failure] : [],
        ),
        measured: own.length === 0 ? null : estimates(own, id),
        against: contender === scenario.baseline ? null : compare(own, measured(scenario.baseline), id),
        aboveOptimum: contender === "optimum" ? null : aboveOptimum(own, optimum),
      };
    }),
  };
}

export function measuredOf(
  results: readonly CellResult[],
  contender: ContenderId,
): readonly MeasuredResult[] {
  return results
    .filter((result): result is MeasuredResult => result.contender === contender && result.measured !== null)
    .toSorted((a, b) => a.trial - b.trial);
}

function estimates(results: readonly MeasuredResult[], seed: string): Estimates {
  const random = seededRandom(numberOf(seed));
  const values = (value: (measured: Measured) => number): number[] =>
    results.map(({ measured }) => value(measured));
  const average = (value: (measured: Measured) => number): number => mean(values(value));
  return {
    p50: estimateMean(
      values(({ p50 }) => p50),
      random,
    ),
    p95: estimateMean(
      values(({ p95 }) => p95),
      random,
    ),
    mean: estimateMean(
      values((measured) => measured.mean),
      random,
    ),
    throughput: estimateMean(
      values(({ throughput }) => throughput),
      random,
    ),
    cost: average(({ facts }) => facts.cost),
    trafficCost: average(({ facts }) => facts.trafficCost),
    colocated: average(({ facts }) => facts.colocated),
    busiest: average(({ facts }) => facts.busiest),
    nodes: average(({ facts }) => facts.nodes),
    queueingShare: average(({ queueingShare }) => queueingShare),
    failedShare: average(({ failed, requests }) => (requests === 0 ? 1 : failed / requests)),
    moves: average(({ moves }) => moves),
  };
}

type Pair = readonly [own: MeasuredResult, baseline: MeasuredResult];

function pairsOf(own: readonly MeasuredResult[], baseline: readonly MeasuredResult[]): readonly Pair[] {
  const byTrial = new Map(baseline.map((result) => [result.trial, result]));
  return own.flatMap((result): Pair[] => {
    const other = byTrial.get(result.trial);
    return other === undefined ? [] : [[result, other]];
  });
}

function compare(
  own: readonly MeasuredResult[],
  baseline: readonly MeasuredResult[],
  seed: string,
): Comparison | null {
  const pairs = pairsOf(own, baseline);
  if (pairs.length === 0) return null;
  const change = (value: (measured: Measured) => number): Estimate =>
    estimateChange(
      pairs.map(([result]) => value(result.measured)),
      pairs.map(([, other]) => value(other.measured)),
      seededRandom(numberOf(seed)),
    );
  return {
    p95: change(({ p95 }) => p95),
    mean: change((measured) => measured.mean),
    throughput: change(({ throughput }) => throughput),
    test: signedRank(pairs.map(([result, other]) => logRatio(result, other))),
  };
}

function logRatio(own: MeasuredResult, other: MeasuredResult): number {
  return Math.log(own.measured.p95 / other.measured.p95);
}

/** Of placements that cost nothing, all in one place, nobody is a share above. */
function aboveOptimum(own: readonly MeasuredResult[], optimum: readonly MeasuredResult[]): number | null {
  const pairs = pairsOf(own, optimum);
  if (pairs.length === 0) return null;
  const cost = mean(pairs.map(([result]) => result.measured.facts.trafficCost));
  const least = mean(pairs.map(([, best]) => best.measured.facts.trafficCost));
  if (least === 0) return cost === 0 ? 0 : Number.POSITIVE_INFINITY;
  return cost / least - 1;
}

function overallOf(
  { baseline }: Scenario,
  contender: ContenderId,
  byPoint: ReadonlyMap<string, readonly CellResult[]>,
  points: readonly PointAnalysis[],
): Overall | null {
  const pairs = [...byPoint.values()].flatMap((results) =>
    pairsOf(measuredOf(results, contender), measuredOf(results, baseline)),
  );
  if (pairs.length === 0) return null;
  const byTrial = [...Map.groupBy(pairs, ([{ trial }]) => trial).values()];
  const average = (value: (measured: Measured) => number): Estimate =>
    estimateMean(
      byTrial.map((ofTrial) =>
        mean(ofTrial.map(([own, other]) => value(own.measured) / value(other.measured) - 1)),
      ),
      seededRandom(1),
    );
  const changes = points.flatMap(
    (point) => point.contenders.find((each) => each.contender === contender)?.against?.p95 ?? [],
  );
  const lower = changes.filter(({ high }) => high < 0).length;
  const higher = changes.filter(({ low }) => low > 0).length;
  return {
    contender,
    p95: average(({ p95 }) => p95),
    mean: average((measured) => measured.mean),
    median: median(changes.map((change) => change.mean)),
    test: signedRank(pairs.map(([own, other]) => logRatio(own, other))),
    pairs: pairs.length,
    lower,
    higher,
    equal: changes.length - lower - higher,
  };
}

/** A seed of the text. */
function numberOf(text: string): number {
  let hash = 0;
  for (const character of text) hash = (Math.imul(hash, 31) + character.codePointAt(0)!) | 0;
  return hash >>> 0;
}
