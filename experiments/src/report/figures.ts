// Which plot shows a scenario best: lines by load, changes by point, their distribution, or the course over time.
import type { CellResult } from "../run/result.ts";
import type { ContenderId, Labels, Point, Scenario } from "../scenario/model.ts";
import { hasLabels } from "../scenario/read-scenario.ts";
import { mean } from "../statistics/quantile.ts";
import type { Analysis, PointAnalysis } from "./analysis.ts";
import { dotPlot } from "./dots.ts";
import { CLOSE, recoveriesOf } from "./recovery.ts";
import { labelText } from "./format.ts";
import { html } from "./html.ts";
import type { Html } from "./html.ts";
import { legend } from "./marker.ts";
import { measuredOf } from "./pairs.ts";
import { panelSvg, scaleOf } from "./plot.ts";
import type { Panel, PlotSeries, ReferenceLine } from "./plot.ts";

const MAX_PANELS = 9;
const MAX_ROWS = 40;
const LEAST_X = 2;
const TARGET = "new optimum and 10 %";

export function figuresOf(scenario: Scenario, analysis: Analysis, results: readonly CellResult[]): Html {
  if (scenario.points.some(({ changes }) => changes.length > 0)) return courses(scenario, results);
  const axis = lineAxis(analysis.points);
  if (axis !== null) {
    const except = [axis, ...constantLabels(analysis.points)];
    const groups = Map.groupBy(analysis.points, ({ labels }) => labelText(labels, except));
    if (groups.size <= MAX_PANELS) return lines(scenario, analysis, axis, [...groups]);
  }
  return analysis.points.length <= MAX_ROWS ? changes(scenario, analysis) : distribution(scenario, analysis);
}

/** What all points have says nothing in a panel's title, unless it is all that there is. */
function constantLabels(points: readonly PointAnalysis[]): readonly string[] {
  const names = Object.keys(points[0]?.labels ?? {});
  const constant = names.filter((name) => new Set(points.map(({ labels }) => labels[name])).size === 1);
  return constant.length >= names.length - 1 ? [] : constant;
}

/** Users where they vary, else the numeric axis with the most values. */
function lineAxis(points: readonly PointAnalysis[]): string | null {
  const counts = Object.keys(points[0]?.labels ?? {})
    .map((name) => {
      const values = new Set(points.map(({ labels }) => labels[name]));
      const isNumeric = [...values].every((value) => typeof value === "number");
      return { name, count: isNumeric ? values.size : 0 };
    })
    .filter(({ name, count }) => count > LEAST_X || (name === "users" && count === LEAST_X));
  const users = counts.find(({ name }) => name === "users");
  return (users ?? counts.toSorted((a, b) => b.count - a.count)[0])?.name ?? null;
}

function lines(
  scenario: Scenario,
  analysis: Analysis,
  axis: string,
  groups: readonly (readonly [string, readonly PointAnalysis[]])[],
): Html {
  const contenders = shownContenders(scenario, analysis);
  const panels = groups.map(([title, points]): Omit<Panel, "y"> => {
    const sorted = points.toSorted((a, b) => Number(a.labels[axis]) - Number(b.labels[axis]));
    return {
      title: title === "" ? scenario.name : title,
      xTitle: axis,
      yTitle: "p95, ms",
      series: contenders.map((contender) => seriesOf(contender, axis, sorted)),
      references: referencesOf(scenario, axis, sorted),
      verticals: [],
      isDense: false,
    };
  });
  const y = scaleOf(
    panels.flatMap(({ series }) =>
      series.flatMap(({ points }) => points.flatMap((point) => [point.y, point.high])),
    ),
  );
  const hasReference = panels.some(({ references }) => references.length > 0);
  return html`<figure>
    ${legend(contenders, hasReference ? referenceName(scenario) : null)}
    <div class="panels">${panels.map((panel) => panelSvg({ ...panel, y }))}</div>
    <figcaption>
      95th percentile of the response time by ${axis}: mean over trials, bars are 95 % bootstrap intervals.
      ${y.isLog ? "The scale is logarithmic. " : ""}Failed requests count as given up after 10 s. Points are
      drawn beside each other where they would hide each other.
    </figcaption>
  </figure>`;
}

function referenceName({ baseline }: Scenario): string {
  return `${baseline} with the change that the source reports`;
}

function seriesOf(contender: ContenderId, axis: string, points: readonly PointAnalysis[]): PlotSeries {
  return {
    contender,
    points: points.flatMap(({ labels, contenders }) => {
      const p95 = contenders.find((each) => each.contender === contender)?.measured?.p95;
      return p95 === undefined
        ? []
        : [{ x: Number(labels[axis]), y: p95.mean, low: p95.low, high: p95.high }];
    }),
  };
}

function referencesOf(scenario: Scenario, axis: string, points: readonly PointAnalysis[]): ReferenceLine[] {
  return scenario.references
    .filter(({ statistic = "p95" }) => statistic === "p95")
    .flatMap(({ text, where, change }) => {
      const covered = points.filter(({ labels }) => hasLabels(labels, where));
      const line = seriesOf(scenario.baseline, axis, covered).points.map(({ x, y }) => ({
        x,
        y: y * (1 + change),
      }));
      return line.length === 0 ? [] : [{ text, points: line }];
    });
}

function changes(scenario: Scenario, analysis: Analysis): Html {
  const contenders = shownContenders(scenario, analysis).filter((id) => id !== scenario.baseline);
  const rows = analysis.points.map((point) => ({
    label: labelText(point.labels) || "all",
    dots: contenders.flatMap((contender) => {
      const p95 = point.contenders.find((each) => each.contender === contender)?.against?.p95;
      return p95 === undefined ? [] : [{ contender, mean: p95.mean, low: p95.low, high: p95.high }];
    }),
  }));
  return html`<figure>
    ${legend(contenders, null)}${dotPlot("Change of the p95 by point", rows)}
    <figcaption>
      Change of the 95th percentile against ${scenario.baseline}, paired by trial, with 95 % bootstrap
      intervals; left is better.
    </figcaption>
  </figure>`;
}

function distribution(scenario: Scenario, analysis: Analysis): Html {
  const contenders = shownContenders(scenario, analysis).filter((id) => id !== scenario.baseline);
  const series = contenders.map((contender): PlotSeries => {
    const values = analysis.points
      .flatMap(
        (point) => point.contenders.find((each) => each.contender === contender)?.against?.p95.mean ?? [],
      )
      .map((value) => Math.min(2, value) * 100)
      .sort((a, b) => a - b);
    return {
      contender,
      points: values.map((x, index) => ({
        x,
        y: ((index + 1) / analysis.points.length) * 100,
        low: 0,
        high: 0,
      })),
    };
  });
  const panel: Panel = {
    title: `${analysis.points.length} points`,
    xTitle: "change of the p95, % (above 200: 200)",
    yTitle: "points with at most that, %",
    series,
    references: [],
    verticals: [0],
    isDense: true,
    y: { low: 0, high: 100, isLog: false },
  };
  return html`<figure>
    ${legend(contenders, null)}
    <div class="panels">${panelSvg(panel)}</div>
    <figcaption>
      Distribution over the points of the grid of the change of the 95th percentile against
      ${scenario.baseline}; further left is better. Whoever has no placement at some points stays below 100 %.
    </figcaption>
  </figure>`;
}

function courses(scenario: Scenario, results: readonly CellResult[]): Html {
  const contenders = scenario.contenders.filter((id) => measuredOf(results, id).length > 0);
  const targets = new Map(
    recoveriesOf(scenario, results).map(({ point, target }) => [point, target * CLOSE]),
  );
  const measured = scenario.points.filter(({ id }) => results.some(({ point }) => point === id));
  const panels = measured.map((point): Omit<Panel, "y"> => {
    const ofPoint = results.filter((result) => result.point === point.id);
    return {
      title: titleOf(point.labels),
      xTitle: "seconds",
      yTitle: "p95, ms",
      series: contenders.map((contender) => courseOf(contender, ofPoint)),
      references: targetLine(point, targets.get(point.id)),
      verticals: [...new Set(point.changes.map(({ atSeconds }) => atSeconds))],
      isDense: true,
    };
  });
  const values = panels.flatMap(({ series }) => series.flatMap(({ points }) => points.map(({ y }) => y)));
  const y = scaleOf(values);
  return html`<figure>
    ${legend(contenders, targets.size > 0 ? TARGET : null)}
    <div class="panels">${panels.map((panel) => panelSvg({ ...panel, y }))}</div>
    <figcaption>
      95th percentile of the response time of each stretch, mean over trials; dotted lines are the changes.
      ${y.isLog ? "The scale is logarithmic. " : ""}Failed requests count as given up after 10 s.
    </figcaption>
  </figure>`;
}

function targetLine({ load }: Point, target: number | undefined): ReferenceLine[] {
  if (target === undefined) return [];
  return [
    {
      text: TARGET,
      points: [
        { x: 0, y: target },
        { x: load.durationSeconds, y: target },
      ],
    },
  ];
}

function titleOf(labels: Labels): string {
  return labelText(labels) || "all";
}

function courseOf(contender: ContenderId, results: readonly CellResult[]): PlotSeries {
  const stretches = measuredOf(results, contender).flatMap(({ measured }) => measured.series);
  const points = [...Map.groupBy(stretches, ({ atSeconds }) => atSeconds)]
    .map(([x, at]) => ({ x, y: mean(at.map(({ p95 }) => p95)), low: 0, high: 0 }))
    .toSorted((a, b) => a.x - b.x);
  return { contender, points };
}

function shownContenders(scenario: Scenario, analysis: Analysis): readonly ContenderId[] {
  return scenario.contenders.filter((id) =>
    analysis.points.some(({ contenders }) =>
      contenders.some((each) => each.contender === id && each.measured !== null),
    ),
  );
}
