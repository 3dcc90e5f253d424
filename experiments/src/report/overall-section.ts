import type { Scenario } from "../scenario/model.ts";
import type { Analysis } from "./analysis.ts";
import { changeInterval, count, figure, percent, probability } from "./format.ts";
import { html, table } from "./html.ts";
import type { Html } from "./html.ts";
import { DECIDED, leastP } from "./overall.ts";
import type { Overall, Standing } from "./overall.ts";

export function overallSection(scenario: Scenario, analysis: Analysis): Html {
  const { standings, direct } = analysis;
  const [first, withOptimum] = standings;
  const shown = [...standings.flatMap(({ overall }) => overall), ...direct];
  return html`${basisText(analysis)} ${overallTable(scenario, first)}
  ${withOptimum === undefined ? null : overallTable(scenario, withOptimum)} ${directTable(scenario, direct)}
  ${shown.length === 0 ? null : readingText(shown)}`;
}

function basisText({ standings, points, lacked }: Analysis): Html {
  if (lacked.length === 0)
    return html`<p>
      Overall figures are over ${points.length === 1 ? "the only point" : `all ${points.length} points`}, at
      which every contender has a measurement in every trial.
    </p>`;
  const sentences = standings.map(
    ({ contenders, points: kept }) =>
      `${kept.length} of ${count(points.length, "point")} (${contenders.join(", ")})`,
  );
  const without = lacked.map(
    ({ contender, points: number }) => `${contender} lacks ${number} of ${points.length}`,
  );
  return html`<p>
    Overall figures of contenders that are compared with each other are over the points at which all of them
    have a measurement in every trial: ${sentences.join("; with those of the optimum, ")}. For want of a
    placement ${without.join(", ")}.
  </p>`;
}

const TESTS = [
  "p by points",
  "p pooled (pairs)",
  "points lower / undecided / higher",
  "uncorrected",
] as const;

function overallTable({ baseline }: Scenario, { overall, points }: Standing): Html | null {
  if (overall.length === 0) return null;
  return table(
    `Change against ${baseline}, averaged over ${count(points.length, "point")}, with 95 % intervals over trials; signed-rank tests of the paired p95 (two-sided)`,
    ["contender", "p95", "mean", "p95 at median point", ...TESTS],
    overall.map((each) => [
      each.contender,
      changeInterval(each.p95),
      changeInterval(each.mean),
      percent(each.median, true),
      ...testCells(each),
    ]),
  );
}

/** Compares directly; a comparison through the baseline would double its variance. */
function directTable({ baseline }: Scenario, direct: readonly Overall[]): Html | null {
  // The section above compares with the baseline.
  const others = direct.filter(({ other }) => other !== baseline);
  const [first] = others;
  if (first === undefined) return null;
  return table(
    `${first.contender} directly against each of the others, paired by trial: change with 95 % intervals over trials, below 0 where ${first.contender} is faster; signed-rank tests of the paired p95 (two-sided)`,
    [`${first.contender} against`, "points", "p95", "mean", "p95 at median point", ...TESTS],
    others.map((each) => [
      each.other,
      each.points,
      changeInterval(each.p95),
      changeInterval(each.mean),
      percent(each.median, true),
      ...testCells(each),
    ]),
  );
}

function testCells({
  pointTest,
  test,
  pairs,
  lower,
  undecided,
  higher,
  uncorrected,
}: Overall): (string | number)[] {
  return [
    probability(pointTest.pTwoSided),
    `${probability(test.pTwoSided)} (${pairs})`,
    `${lower} / ${undecided} / ${higher}`,
    `${uncorrected.lower} / ${lower + undecided + higher - uncorrected.lower - uncorrected.higher} / ${uncorrected.higher}`,
  ];
}

function readingText(shown: readonly Overall[]): Html {
  return html`<p>
    Figures over points are geometric means of the ratios of each trial; the median point is that of ratios of
    means over trials, as the rows of points have them. A point counts as lower or higher where the
    signed-rank p of its trials is below ${DECIDED} after Holm's correction over the points of its row;
    uncorrected, each point is judged by itself. ${outOfReach(shown)} The p by points takes the point's means
    over trials as one pair; the pooled one has a pair per point and trial and takes trials of one point for
    independent of each other, which makes it smaller than it should be. ${fewPoints(shown)}
  </p>`;
}

/** Holm multiplies p by the number of points: with few trials, no point may be significant. */
function outOfReach(shown: readonly Overall[]): string | null {
  const beyond = shown.find(({ leastPointP, points }) => leastPointP * points >= DECIDED);
  if (beyond === undefined) return null;
  const { leastPointP, points } = beyond;
  const corrected =
    points === 1 ? "" : `, corrected for ${points} points ${figure(Math.min(1, leastPointP * points))}`;
  return `So few trials allow a point no p below ${figure(leastPointP)}${corrected}: with that many points and trials none is told apart, whatever they show.`;
}

function fewPoints(shown: readonly Overall[]): string | null {
  const least = Math.min(...shown.map(({ points }) => points));
  const p = leastP(least);
  return p < DECIDED ? null : `Of ${count(least, "pair")} it can't be below ${figure(p)}.`;
}
