import { quickNote } from "./experiment-report.ts";
import type { CellResult } from "../run/result.ts";
import type { ContenderId, Scenario } from "../scenario/model.ts";
import type { Analysis } from "./analysis.ts";
import { changeInterval, count, labelText, percent, probability } from "./format.ts";
import { html } from "./html.ts";
import type { Html } from "./html.ts";
import { lossesOf, uncomparedOf } from "./losses.ts";
import { DECIDED } from "./overall.ts";
import type { Overall } from "./overall.ts";
import { medianText, recoveriesOf } from "./recovery.ts";

const MOST_NAMED = 6;

const PLAIN = 0.005;

interface FindingsInput {
  readonly scenario: Scenario;
  readonly results: readonly CellResult[];
  readonly quick: boolean;
}

export function findings(
  { scenario, results, quick }: FindingsInput,
  analyses: readonly Analysis[],
  focus: ContenderId | null,
): Html {
  const found = analyses.map((analysis) => {
    const each = analysis.overall.find(({ contender }) => contender === focus);
    return each === undefined
      ? html`<p>
          <strong>${groundName(analysis.ground)}:</strong> there is no pair of trials of ${focus ?? "anybody"}
          and ${scenario.baseline} to compare.
        </p>`
      : groundFinding(scenario, results, analysis, each);
  });
  return html`<div class="finding">
    ${found.length === 0 ? html`<p>There is no pair of trials to compare.</p>` : found} ${missing(results)}
    ${quickNote(quick ? "fewer points and trials, shorter" : null)}
  </div>`;
}

function groundFinding(
  scenario: Scenario,
  results: readonly CellResult[],
  analysis: Analysis,
  each: Overall,
): Html {
  const ofGround = results.filter(({ ground }) => ground === analysis.ground);
  return html`<p><strong>${groundName(analysis.ground)}:</strong> ${sizeText(scenario, analysis, each)}</p>
    <ul>
      ${[recoveryText(scenario, ofGround, each), certaintyText(each), directText(analysis, each), lossText(scenario, analysis, each)].filter((text) => text !== null).map((text) => html`<li>${text}</li>`)}
    </ul>`;
}

export function groundName(ground: string): string {
  return ground === "lab" ? "In the lab" : "In the model";
}

function sizeText({ baseline }: Scenario, analysis: Analysis, each: Overall): string {
  const { contender, p95, points } = each;
  const who = `${contender}'s p95 (all but the slowest 5 % of requests are answered sooner)`;
  const of = analysis.points.length;
  const over =
    points === of
      ? count(points, "point")
      : `the ${points} of ${count(of, "point")} that all contenders have`;
  const average = `${changeInterval(p95)} in the geometric mean over ${over}`;
  if (points === 1) return `${who} differs from ${baseline}'s by ${average}.`;
  const isOdd = each.median * p95.mean < 0 && Math.min(Math.abs(each.median), Math.abs(p95.mean)) >= PLAIN;
  return `${who} is ${changeText(each.median)} ${baseline}'s at the median point; it differs by ${average}${rangeText(analysis, each)}.${isOdd ? " The two differ in direction: few points with large changes decide the mean." : ""}`;
}

function changeText(change: number): string {
  if (Math.abs(change) < 0.0005) return "equal to";
  return `${percent(Math.abs(change))} ${change < 0 ? "lower" : "higher"} than`;
}

/** Range over points, which an interval over trials doesn't show. */
function rangeText({ points, standings }: Analysis, { contender }: Overall): string {
  const changes = points
    .filter(({ id }) => standings[0].points.includes(id))
    .flatMap(({ labels, contenders }) => {
      const against = contenders.find((each) => each.contender === contender)?.against ?? null;
      return against === null ? [] : [{ change: against.p95.mean, name: labelText(labels) }];
    })
    .toSorted((a, b) => a.change - b.change);
  const [least, most] = [changes[0], changes.at(-1)];
  if (least === undefined || most === undefined || changes.length < 2) return "";
  return `, from ${percent(least.change, true)} (${least.name}) to ${percent(most.change, true)} (${most.name})`;
}

function certaintyText({ points, lower, higher, undecided, pointTest, test, leastPointP }: Overall): string {
  const p =
    points === 1
      ? `p ${probability(test.pTwoSided)} over its trials`
      : `p ${probability(pointTest.pTwoSided)} with a pair per point`;
  const isBeyond = leastPointP * points >= DECIDED;
  return `Judged by each point's own trials, with Holm's correction, it is lower at ${lower} of ${count(points, "point")}, higher at ${higher}, and not told apart at ${undecided}${isBeyond ? ": so few trials can tell no point apart, whatever they show" : ""}. All points together: signed-rank ${p}.`;
}

function directText({ direct }: Analysis, { contender, other: baseline }: Overall): string | null {
  const others = direct.filter((each) => each.contender === contender && each.other !== baseline);
  if (others.length === 0) return null;
  const texts = others.map(
    ({ other, p95, median: middle }) =>
      `${other} ${changeInterval(p95)}, median point ${percent(middle, true)}`,
  );
  return `Its p95 directly against the other contenders' (below 0 it is faster): ${texts.join("; ")}.`;
}

function recoveryText(
  scenario: Scenario,
  results: readonly CellResult[],
  { contender }: Overall,
): string | null {
  const own = recoveriesOf(scenario, results).filter((each) => each.contender === contender);
  if (own.length === 0 || own.length > MOST_NAMED) return null;
  const bySeconds = Map.groupBy(own, medianText);
  const texts = [...bySeconds].map(([text, at]) =>
    at.length === own.length
      ? `${text} at ${at.length === 1 ? "the only point" : `all ${at.length} points`}`
      : `${text} (${at.map(({ labels }) => labelText(labels)).join("; ")})`,
  );
  return `From the change until its p95 is within 10 % of the new optimum's, median of the trials: ${texts.join(", ")}.`;
}

function lossText(scenario: Scenario, analysis: Analysis, { contender, other }: Overall): Html | null {
  // Equality with the baseline is expected here.
  if (contender === "null") return null;
  const losses = lossesOf(scenario, analysis, contender);
  const without = uncomparedOf(scenario, analysis, contender).length;
  const compared = analysis.points.length - without;
  const names = losses.map(({ point }) => labelText(point.labels) || "the only point");
  const others =
    losses.length === 0
      ? ""
      : names.length > MOST_NAMED
        ? `, and not at ${losses.length}`
        : `, and not at ${names.join("; ")}`;
  const where = `Against ${other} its p95 is lower by 1 % or more, with 95 % confidence, at ${compared - losses.length} of ${count(compared, "point")}${others}`;
  return html`${where}${without === 0 ? "" : `; ${count(without, "point")} can't be compared`} (<a
      href="#losses"
      >where and why</a
    >).`;
}

function missing(results: readonly CellResult[]): Html | null {
  const failed = results.filter(({ failure }) => failure !== null);
  if (failed.length === 0) return null;
  const by = [...Map.groupBy(failed, ({ contender }) => contender)].map(
    ([contender, cells]) =>
      `${contender} ${cells.length} (${[...new Set(cells.map(({ failure }) => failure))].slice(0, 2).join("; ")})`,
  );
  return html`<p>
    ${failed.length} of ${results.length} cells have no measurement, because the contender found no placement:
    ${by.join(", ")}.
  </p>`;
}
