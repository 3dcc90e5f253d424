// Chooses the plot of a scenario: lines by load, changes by point, their distribution, or the course over
// time.
import type { CellResult } from "../run/result.ts";
import type { ContenderId, Labels, Point, Scenario } from "../scenario/model.ts";
import { hasLabels } from "../scenario/axes.ts";
import { mean } from "../statistics/mean.ts";
import type { Analysis, PointAnalysis } from "./analysis.ts";
import { dotPlot, MOST } from "./dots.ts";
import { CLOSE, recoveriesOf } from "./recovery.ts";
import { labelText, percent } from "./format.ts";
import { details, html } from "./html.ts";
import type { Html } from "./html.ts";
import { legend } from "./marker.ts";
import { measuredOf } from "./pairs.ts";
import { panelSvg, scaleOf } from "./plot.ts";
import type { Panel, PlotSeries, ReferenceLine } from "./plot.ts";

const MAX_PANELS = 9;
const MAX_ROWS = 40;
/** With more rows, their distribution comes first. */
const FEW_ROWS = 12;
const LEAST_X = 2;
const TARGET = "new optimum plus 10 %";

export function figuresOf(scenario: Scenario, analysis: Analysis, results: readonly CellResult[]): Html {
  const measured = scenario.points.filter(({ id }) => analysis.points.some((point) => point.id === id));
  const changing = measured.filter((point) => point.changes.length > 0);
  const isCourse = changing.length > 0 && changing.length <= MAX_PANELS;
  const course = isCourse ? courses(scenario, changing, results) : null;
  return course !== null && changing.length === measured.length
    ? course
    : html`${overviewOf(scenario, analysis)}${course}`;
}

/** Shows all points, including those with changes over time. */
function overviewOf(scenario: Scenario, analysis: Analysis): Html {
  const axis = lineAxis(analysis.points);
  if (axis !== null) {
    const except = [axis, ...constantLabels(analysis.points, 1)];
    const groups = Map.groupBy(analysis.points, ({ labels }) => labelText(labels, except));
    if (groups.size <= MAX_PANELS) return lines(scenario, analysis, axis, [...groups]);
  }
  const { length } = analysis.points;
  if (length <= FEW_ROWS) return changes(scenario, analysis);
  const each =
    length <= MAX_ROWS
      ? details(`The change at each of the ${length} points, with intervals`, changes(scenario, analysis))
      : null;
  return html`${distribution(scenario, analysis)}${each}`;
}

/** Labels that all points share; titles omit them unless there are no others. */
function constantLabels(points: readonly { readonly labels: Labels }[], axes: number): readonly string[] {
  const names = Object.keys(points[0]?.labels ?? {});
  const constant = names.filter((name) => new Set(points.map(({ labels }) => labels[name])).size === 1);
  return constant.length >= names.length - axes ? [] : constant;
}

/** Returns true for 1, 2, 3, ... such as numbers of generated graphs, which a line must not connect. */
function areNames(values: ReadonlySet<number | string | undefined>): boolean {
  return [...values]
    .map(Number)
    .toSorted((a, b) => a - b)
    .every((value, index) => value === index + 1);
}

/** Returns `users` if it varies, else the numeric axis with the most values. */
function lineAxis(points: readonly PointAnalysis[]): string | null {
  const counts = Object.keys(points[0]?.labels ?? {})
    .map((name) => {
      const values = new Set(points.map(({ labels }) => labels[name]));
      const isNumeric = [...values].every((value) => typeof value === "number") && !areNames(values);
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
      series.flatMap(({ points }) => points.flatMap(({ y, high = y }) => [y, high])),
    ),
  );
  const hasReference = panels.some(({ references }) => references.length > 0);
  return html`<figure>
    ${legend(contenders, hasReference ? referenceName(scenario) : null)}
    <div class="panels">${panels.map((panel) => panelSvg({ ...panel, y }))}</div>
    <figcaption>
      95th percentile of the response time (p95) by ${axis}, lower is better: mean over trials, bars are 95 %
      bootstrap intervals. ${y.isLog ? "The scale is logarithmic. " : ""}Failed requests count as given up
      after 10 s. Points are drawn beside each other where they would hide each other.
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
  const except = constantLabels(analysis.points, 0);
  const rows = analysis.points.map((point) => ({
    label: labelText(point.labels, except) || "all",
    dots: contenders.flatMap((contender) => {
      const p95 = point.contenders.find((each) => each.contender === contender)?.against?.p95;
      return p95 === undefined ? [] : [{ contender, mean: p95.mean, low: p95.low, high: p95.high }];
    }),
  }));
  if (rows.every(({ dots }) => dots.length === 0)) return html``;
  return html`<figure>
    ${legend(contenders, null)}${dotPlot("Change of the p95 by point", rows)}
    <figcaption>
      Change of the 95th percentile against ${scenario.baseline}, paired by trial, with 95 % bootstrap
      intervals; left is better.
      ${rows.some(({ dots }) => dots.some(({ high }) => high > MOST)) ? `What is above ${percent(MOST, true)} is drawn with an arrow at the edge.` : null}
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
      .map((value) => Math.min(MOST, value) * 100)
      .sort((a, b) => a - b);
    return {
      contender,
      points: values.map((x, index) => ({ x, y: ((index + 1) / analysis.points.length) * 100 })),
    };
  });
  const panel: Panel = {
    title: `${analysis.points.length} points`,
    xTitle: series.some(({ points }) => points.some(({ x }) => x >= MOST * 100))
      ? "change of the p95, % (above 200: 200)"
      : "change of the p95, %",
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

function courses(scenario: Scenario, points: readonly Point[], results: readonly CellResult[]): Html {
  const contenders = scenario.contenders.filter((id) => measuredOf(results, id).length > 0);
  const targets = new Map(
    recoveriesOf(scenario, results).map(({ point, target }) => [point, target * CLOSE]),
  );
  const except = constantLabels(points, 0);
  const others = Object.keys(points[0]!.labels).filter((name) => !except.includes(name));
  const shared = labelText(points[0]!.labels, others);
  const panels = points.map((point): Omit<Panel, "y"> => {
    const ofPoint = results.filter((result) => result.point === point.id);
    return {
      title: labelText(point.labels, except) || "all",
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
      95th percentile of the response time (p95) of each stretch, mean over
      trials${shared === "" ? "" : `, all of ${shared}`}; dotted lines are the changes.
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

function courseOf(contender: ContenderId, results: readonly CellResult[]): PlotSeries {
  const stretches = measuredOf(results, contender).flatMap(({ measured }) => measured.series);
  const points = [...Map.groupBy(stretches, ({ atSeconds }) => atSeconds)]
    .map(([x, at]) => ({ x, y: mean(at.map(({ p95 }) => p95)) }))
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
