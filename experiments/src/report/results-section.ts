import type { CellResult } from "../run/result.ts";
import type { ContenderId, Scenario } from "../scenario/model.ts";
import { hasLabels } from "../scenario/axes.ts";
import { mean } from "../statistics/mean.ts";
import type { Analysis, ContenderAtPoint, PointAnalysis } from "./analysis.ts";
import { figuresOf } from "./figures.ts";
import { groundName } from "./findings.ts";
import { changeInterval, count, figure, interval, labelText, percent, probability } from "./format.ts";
import { details, html, table } from "./html.ts";
import type { Html } from "./html.ts";
import { lossesOf, uncomparedOf } from "./losses.ts";
import { optimumSection } from "./optimum-section.ts";
import { overallSection } from "./overall-section.ts";
import { medianText, recoveriesOf } from "./recovery.ts";
import type { Recovery } from "./recovery.ts";
import { steadySection } from "./steady-section.ts";

const MOST_LOSSES = 40;
const NOTHING = "\u2013";

export function resultsSection(scenario: Scenario, analysis: Analysis, results: readonly CellResult[]): Html {
  const ofGround = results.filter(({ ground }) => ground === analysis.ground);
  return html`<h3>Response times${analysis.ground === "lab" ? " in the lab" : ", model"}</h3>
    ${figuresOf(scenario, analysis, ofGround)} ${recoveryTable(scenario, ofGround)}
    ${overallSection(scenario, analysis)} ${referenceTable(scenario, analysis)}
    ${optimumSection(scenario, analysis)} ${steadySection(scenario, ofGround)}
    ${details(
      "Every point: estimates with intervals, cost, co-location, load and waiting",
      html`${pointTable(scenario, analysis)}
        <p class="soft">${COLUMNS}</p>`,
    )}`;
}

function recoveryTable(scenario: Scenario, results: readonly CellResult[]): Html | null {
  const recoveries = recoveriesOf(scenario, results);
  if (recoveries.length === 0) return null;
  const contenders = scenario.contenders.filter((id) => recoveries.some(({ contender }) => contender === id));
  const rows = [...Map.groupBy(recoveries, ({ point }) => point).values()].map((ofPoint) => [
    labelText(ofPoint[0]!.labels) || "all",
    figure(ofPoint[0]!.target),
    ...contenders.map((id) => recoveryCell(ofPoint.find(({ contender }) => contender === id))),
  ]);
  return html`${table("Time from the change until the p95 is within 10 % of the new optimum's and stays there to the end: median over trials (least to most of those that return; never: not within the run)", ["point", "new optimum, ms", ...contenders], rows)}
    <p>
      The new optimum knows the changes beforehand. To the end: there are never two stretches in a row above
      it, and at least two within it. Who never left it has the seconds to the end of the stretch in which the
      change came.
    </p>`;
}

function recoveryCell(recovery: Recovery | undefined): string {
  if (recovery === undefined) return "\u2013";
  const back = recovery.seconds.filter((value) => value !== null);
  const never = recovery.seconds.length - back.length;
  const { length } = recovery.seconds;
  if (back.length === 0) return `never (${length} of ${length})`;
  const range = [...new Set([Math.min(...back), Math.max(...back)])].map(Math.round).join(" to ");
  if (recovery.median === null) return `never (${never} of ${length}; else ${range} s)`;
  return `${medianText(recovery)} (${range}${never === 0 ? "" : `; ${never} of ${length} never`})`;
}

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
      // With fewer points, the means would cover different sets.
      const isWhole = values.length > 0 && values.length === covered.length;
      return isWhole ? percent(mean(values), true) : NOTHING;
    });
    return [text, statistic, percent(change, true), ...measured];
  });
  if (rows.every((row) => row.slice(-others.length).every((cell) => cell === NOTHING))) return null;
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

const COLUMNS =
  "Network: milliseconds of round trips that the calls of a second take together. Co-located: share of the calls that stay on their node. Busiest node: share of its CPU that it is asked for. Waiting: share of the mean response time that is neither network nor work, such as waiting for CPU, retries, or pods that are away.";

function behindText(scenario: Scenario, { direct }: Analysis, contender: ContenderId): Html | null {
  const texts = direct
    .filter((each) => each.contender === contender && each.other !== scenario.baseline && each.higher > 0)
    .map(({ other, higher, points }) => `than ${other}'s at ${higher} of ${count(points, "point")}`);
  if (texts.length === 0) return null;
  return html`<p>
    Directly against the other contenders, the p95 of ${contender} is higher ${texts.join(", ")}, by Holm's
    correction over the points.
  </p>`;
}

function withoutText(points: readonly PointAnalysis[]): Html | null {
  if (points.length === 0) return null;
  const names = points.slice(0, MOST_LOSSES).map(({ labels }) => labelText(labels) || "all");
  return html`<p>
    Not to be compared, for want of a measurement, ${points.length === 1 ? "is" : "are"} ${points.length}:
    ${names.join("; ")}${points.length > MOST_LOSSES ? "; \u2026" : ""}.
  </p>`;
}

export function lossSection(scenario: Scenario, analyses: readonly Analysis[], contender: ContenderId): Html {
  const hasLosses = analyses.some((analysis) => lossesOf(scenario, analysis, contender).length > 0);
  const parts = analyses.map((analysis) => {
    const losses = lossesOf(scenario, analysis, contender);
    const without = uncomparedOf(scenario, analysis, contender);
    const points = analysis.points.length - without.length;
    const where = groundName(analysis.ground);
    if (points === 0)
      return html`<p>
        ${where} no point has ${contender} beside ${scenario.baseline}: nothing can be said.
      </p>`;
    if (losses.length === 0)
      return html`<p>
          ${where}, at ${points === 1 ? "the only point" : `each of the ${points} points`} that has both, the
          p95 of ${contender} is lower than ${scenario.baseline}'s by more than 1 %, with 95 %
          confidence${points === 1 ? "" : ", each point by itself"}.
        </p>
        ${withoutText(without)}${behindText(scenario, analysis, contender)}`;
    const rows = losses
      .slice(0, MOST_LOSSES)
      .map(({ point, own, baseline, against, why }) => [
        labelText(point.labels) || "all",
        changeInterval(against.p95),
        `${figure(own.cost)} / ${figure(baseline.cost)}`,
        `${whole(own.colocated)} / ${whole(baseline.colocated)}`,
        `${whole(own.busiest)} / ${whole(baseline.busiest)}`,
        `${whole(own.queueingShare)} / ${whole(baseline.queueingShare)}`,
        why,
      ]);
    return html`<p>
        ${where}, at ${losses.length} of ${points === 1 ? "1 point" : `${points} points`}, the p95 of
        ${contender} is not lower than ${scenario.baseline}'s by more than 1 %, with 95 % confidence, each
        point by
        itself${losses.length > MOST_LOSSES ? `; the first ${MOST_LOSSES} are shown, all are in the results` : ""}.
      </p>
      ${table(`${contender} / ${scenario.baseline} where it does not help`, ["point", "change of p95", "network, ms/s", "co-located", "busiest node", "waiting", "why"], rows)}
      ${withoutText(without)}${behindText(scenario, analysis, contender)}`;
  });
  return html`<h2 id="losses">Where it does not help</h2>
    ${parts} ${hasLosses ? html`<p class="soft">${COLUMNS}</p>` : null}`;
}

function whole(share: number): string {
  return `${Math.round(share * 100)}\u202f%`;
}
