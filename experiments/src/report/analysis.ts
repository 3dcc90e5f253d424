import { seededRandom } from "@isochrone/runtime";
import type { GroundName } from "../run/cells.ts";
import type { CellResult, Measured } from "../run/result.ts";
import type { ContenderId, Labels, Scenario } from "../scenario/model.ts";
import { estimateChange, estimateMean } from "../statistics/bootstrap.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import { mean } from "../statistics/mean.ts";
import { signedRank } from "../statistics/signed-rank.ts";
import type { SignedRank } from "../statistics/signed-rank.ts";
import { directlyOf, lackedPoints, standingsOf } from "./overall.ts";
import type { Overall, Standing } from "./overall.ts";
import { logRatio, measuredOf, pairsOf } from "./pairs.ts";
import type { MeasuredResult } from "./pairs.ts";

export type { Overall } from "./overall.ts";

export interface Analysis {
  readonly ground: GroundName;
  readonly points: readonly PointAnalysis[];
  readonly standings: readonly [Standing, ...(readonly Standing[])];
  readonly overall: readonly Overall[];
  /** Isochrone against each other contender; empty without Isochrone. */
  readonly direct: readonly Overall[];
  readonly lacked: readonly { readonly contender: ContenderId; readonly points: number }[];
}

export interface PointAnalysis {
  readonly id: string;
  readonly labels: Labels;
  /** In the scenario's order; those without a measured trial have no estimates. */
  readonly contenders: readonly ContenderAtPoint[];
}

export interface ContenderAtPoint {
  readonly contender: ContenderId;
  readonly trials: number;
  readonly failures: readonly string[];
  readonly measured: Estimates | null;
  /** Compared with the baseline, paired by trial; null for the baseline and without pairs. */
  readonly against: Comparison | null;
  /** Relative extra traffic cost over the optimum, 0.05 is 5 %; null if one is missing. */
  readonly aboveOptimum: number | null;
}

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
  readonly test: SignedRank;
}

export function analyse(scenario: Scenario, results: readonly CellResult[]): readonly Analysis[] {
  return [...Map.groupBy(results, ({ ground }) => ground)].map(([ground, ofGround]) => {
    const byPoint = Map.groupBy(ofGround, ({ point }) => point);
    const standings = standingsOf(scenario, byPoint);
    return {
      ground,
      points: [...byPoint].map(([id, ofPoint]) => analysePoint(scenario, id, ofPoint)),
      standings,
      overall: standings[0].overall,
      direct: directlyOf("isochrone", standings, byPoint),
      lacked: lackedPoints(scenario, byPoint),
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
    test: signedRank(pairs.map(logRatio)),
  };
}

/** Returns null if the optimum's placements cost nothing, because then no ratio exists. */
function aboveOptimum(own: readonly MeasuredResult[], optimum: readonly MeasuredResult[]): number | null {
  const pairs = pairsOf(own, optimum);
  if (pairs.length === 0) return null;
  const cost = mean(pairs.map(([result]) => result.measured.facts.trafficCost));
  const least = mean(pairs.map(([, best]) => best.measured.facts.trafficCost));
  if (least === 0) return cost === 0 ? 0 : Number.POSITIVE_INFINITY;
  return cost / least - 1;
}

function numberOf(text: string): number {
  let hash = 0;
  for (const character of text) hash = (Math.imul(hash, 31) + character.codePointAt(0)!) | 0;
  return hash >>> 0;
}
