import type { CellResult } from "../run/result.ts";
import type { ContenderId, Scenario } from "../scenario/model.ts";
import { hasLabels } from "../scenario/read-scenario.ts";
import { mean } from "../statistics/quantile.ts";
import type { Analysis, ContenderAtPoint } from "./analysis.ts";
import { figuresOf } from "./figures.ts";
import { changeInterval, figure, interval, labelText, percent, probability } from "./format.ts";
import { details, html, table } from "./html.ts";
import type { Html } from "./html.ts";
import { lossesOf } from "./losses.ts";
import { optimumSection } from "./optimum-section.ts";
import { overallSection } from "./overall-section.ts";
import { recoveriesOf } from "./recovery.ts";

const MOST_LOSSES = 40;

/** What one ground shows: plot, figures over all points, each point, losses. */
export function resultsSection(scenario: Scenario, analysis: Analysis, results: readonly CellResult[]): Html {
  const ofGround = results.filter(({ ground }) => ground === analysis.ground);
  return html`<h3>Response times${analysis.ground === "lab" ? " in the lab" : ", model"}</h3>
    ${figuresOf(scenario, analysis, ofGround)} ${overallSection(scenario, analysis)}
    ${recoveryTable(scenario, ofGround)} ${referenceTable(scenario, analysis)}
    ${optimumSection(scenario, analysis)}
    ${details("Every point: estimates with intervals, cost, co-location, load and waiting", pointTable(scenario, analysis))}`;
}

function recoveryTable(scenario: Scenario, results: readonly CellResult[]): Html | null {
  const recoveries = recoveriesOf(scenario, results);
  if (recoveries.length === 0) return null;
  const seconds = (value: number | null): string =>
    value === null ? "not within the run" : `${figure(value)} s`;
  return table(
    "Time from the change until the p95 is within 10 % of what the optimum has that knows the changes beforehand, and stays there to the end: from then on there are never two stretches in a row above it, and at least two within it; who never left it has the length of a stretch",
    ["point", "contender", "median", "trials", "p95 of the new optimum, ms"],
    recoveries.map(({ point, contender, seconds: each, median, target }) => [
      point.replaceAll("=", " "),
      contender,
      seconds(median),
      each.map((value) => (value === null ? "\u2013" : figure(value))).join(", "),
      figure(target),
    ]),
  );
}

/** What the source reports beside what was measured here at the same points. */
function referenceTable(scenario: Scenario, analysis: Analysis): Html | null {
  if (scenario.references.length === 0) return null;
  const others = scenario.contenders.filter((id) => id !== scenario.baseline);
  const compared = analysis.points.filter(({ id }) => analysis.standings[0].points.includes(id));
  const rows = scenario.references.map(({ text, where, change, statistic = "p95" }) => {
    const covered = compared.filter(({ labels }) => hasLabels(labels, where));
    const measured = others.map((contender) => {
      const values = covered.flatMap(
        ({ contenders }) =>
          contenders.find((each) => each.contender === contender)?.against?.[statistic].mean ?? [],
      );
      // Of fewer points the mean would be over others than beside it.
      const isWhole = values.length > 0 && values.length === covered.length;
      return isWhole ? percent(mean(values), true) : "\u2013";
    });
    return [text, statistic, percent(change, true), ...measured];
  });
  return table(
    `Changes that the source reports, and those here against ${scenario.baseline}, averaged over those of the same points at which all schedulers have a measurement: a line to look along, not one to pass`,
    ["source", "statistic", "reported", ...others],
    rows,
  );
}

function pointTable(scenario: Scenario, analysis: Analysis): Html {
  const rows = analysis.points.flatMap(({ labels, contenders }) =>
    contenders.map((each) => [labelText(labels) || "all", each.contender, ...pointCells(each)]),
  );
  return table(
    `Means over trials; intervals are 95 %; the change is against ${scenario.baseline}`,
    [
      "point",
      "contender",
      "p50, ms",
      "p95, ms",
      "mean, ms",
      "change of p95",
      "p",
      "answered/s",
      "failed",
      "network, ms/s",
      "co-located",
      "busiest node",
      "waiting",
      "nodes",
      "moves",
      "above optimum",
    ],
    rows,
  );
}

function pointCells({
  measured,
  against,
  failures,
  trials,
  aboveOptimum,
}: ContenderAtPoint): readonly string[] {
  if (measured === null) return [failures[0] ?? (trials === 0 ? "not measured" : "failed")];
  return [
    interval(measured.p50),
    interval(measured.p95),
    interval(measured.mean),
    against === null ? "" : changeInterval(against.p95),
    against === null ? "" : probability(against.test.pTwoSided),
    figure(measured.throughput.mean),
    percent(measured.failedShare),
    figure(measured.cost),
    percent(measured.colocated),
    percent(measured.busiest),
    percent(measured.queueingShare),
    figure(measured.nodes),
    figure(measured.moves),
    aboveOptimum === null ? "" : percent(aboveOptimum, true),
  ];
}

/** Where the contender doesn't help, which is part of what there is to know of it. */
export function lossSection(scenario: Scenario, analyses: readonly Analysis[], contender: ContenderId): Html {
  const parts = analyses.map((analysis) => {
    const losses = lossesOf(scenario, analysis, contender);
    const points = analysis.points.length;
    if (losses.length === 0)
      return html`<p>
        ${analysis.ground}: at ${points === 1 ? "the only point" : `each of the ${points} points`} the p95 is
        lower than ${scenario.baseline}'s by more than 1 %, with 95 % confidence, each point by itself.
      </p>`;
    const rows = losses
      .slice(0, MOST_LOSSES)
      .map(({ point, own, baseline, against, why }) => [
        labelText(point.labels) || "all",
        changeInterval(against.p95),
        `${figure(own.cost)} / ${figure(baseline.cost)}`,
        `${percent(own.colocated)} / ${percent(baseline.colocated)}`,
        `${percent(own.busiest)} / ${percent(baseline.busiest)}`,
        `${percent(own.queueingShare)} / ${percent(baseline.queueingShare)}`,
        why,
      ]);
    return html`<p>
        ${analysis.ground}: at ${losses.length} of ${points} points the p95 of ${contender} is not lower than
        ${scenario.baseline}'s by more than 1 %, with 95 % confidence, each point by
        itself${losses.length > MOST_LOSSES ? `; the first ${MOST_LOSSES} are shown, all are in the results` : ""}.
      </p>
      ${table(`${contender} / ${scenario.baseline} where it does not help`, ["point", "change of p95", "network, ms/s", "co-located", "busiest node", "waiting", "why"], rows)}`;
  });
  return html`<h2>Where it does not help</h2>
    ${parts}`;
}
