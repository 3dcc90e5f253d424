import type { Scenario } from "../scenario/model.ts";
import type { Analysis, Comparison, ContenderAtPoint, Estimates, PointAnalysis } from "./analysis.ts";

interface Loss {
  readonly point: PointAnalysis;
  readonly own: Estimates;
  readonly baseline: Estimates;
  readonly against: Comparison;
  readonly why: string;
}

const LEAST_CHANGE = 0.01;
const SMALL_SHARE = 0.1;
const SATURATED = 0.9;
/** Above this share of failures, the p95 is a failed request. */
const GIVEN_UP = 0.05;

/** Points at which the contender's p95 isn't at least 1 % below the baseline's with 95 % confidence. */
export function lossesOf(scenario: Scenario, analysis: Analysis, contender: string): readonly Loss[] {
  return analysis.points.flatMap((point) => {
    const own = find(point, contender);
    const baseline = find(point, scenario.baseline);
    const against = own?.against ?? null;
    if (!own?.measured || !baseline?.measured || against === null) return [];
    if (against.p95.high < -LEAST_CHANGE) return [];
    return [
      {
        point,
        own: own.measured,
        baseline: baseline.measured,
        against,
        why: why(own.measured, baseline.measured, against),
      },
    ];
  });
}

/** Points without a comparison, because the contender or the baseline has no measurement. */
export function uncomparedOf(
  scenario: Scenario,
  analysis: Analysis,
  contender: string,
): readonly PointAnalysis[] {
  return analysis.points.filter(
    (point) => !find(point, contender)?.against || !find(point, scenario.baseline)?.measured,
  );
}

function find({ contenders }: PointAnalysis, contender: string): ContenderAtPoint | undefined {
  return contenders.find((each) => each.contender === contender);
}

function why(own: Estimates, baseline: Estimates, { p95 }: Comparison): string {
  if (own.failedShare > baseline.failedShare + LEAST_CHANGE)
    return `requests fail (${percent(own.failedShare)} of them): its busiest node is asked for ${percent(own.busiest)} of its CPU, the baseline's for ${percent(baseline.busiest)}`;
  if (Math.min(own.failedShare, baseline.failedShare) > GIVEN_UP && Math.abs(p95.mean) < LEAST_CHANGE)
    return `both collapse: ${percent(own.failedShare)} of the requests fail, the baseline's ${percent(baseline.failedShare)}, and either p95 is the time after which they are given up`;
  const isBusier = own.busiest > baseline.busiest + LEAST_CHANGE;
  const waits = own.queueingShare > baseline.queueingShare + SMALL_SHARE;
  if (waits && !isBusier)
    return `waits for ${percent(own.queueingShare)} of its response time, the baseline for ${percent(baseline.queueingShare)}, though its busiest node is asked for no more CPU: bursts, single pods or pods on the move are left as reasons`;
  if (waits || (own.busiest > SATURATED && isBusier))
    return `waits for CPU: its busiest node is asked for ${percent(own.busiest)} of its CPU, the baseline's for ${percent(baseline.busiest)}, since it puts what talks together`;
  if (own.cost > baseline.cost * (1 - SMALL_SHARE))
    return `its calls cross as much network as the baseline's (${percent(own.colocated)} stay on a node, there ${percent(baseline.colocated)})`;
  if (p95.high < 0) return "lower, but by less than 1 %";
  if (p95.mean < 0) return "lower, but not beyond the spread of the trials";
  return "less network on average, but not on the slowest branch, which decides";
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
