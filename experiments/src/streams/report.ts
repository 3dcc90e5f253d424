import type { ReportContext } from "../frame/experiment.ts";
import { meanOf } from "../frame/figures.ts";
import { experimentReport, findingList, type SetUpRow } from "../report/experiment-report.ts";
import { count, figure, interval, labelText, percent } from "../report/format.ts";
import { html, table, type Html } from "../report/html.ts";
import { legend } from "../report/marker.ts";
import { panelSvg, scaleOf, type PlotSeries } from "../report/plot.ts";
import { hasLabels } from "../scenario/axes.ts";
import { mean } from "../statistics/mean.ts";
import type { StreamResult } from "./cells.ts";
import type { PacketResult } from "./packets.ts";

import { WHO, type Claim, type StreamContender, type StreamPoint, type StreamScenario } from "./scenario.ts";

interface StreamReportInput extends ReportContext {
  readonly scenario: StreamScenario;
  readonly results: readonly StreamResult[];
  readonly packets: readonly PacketResult[];
}

export const FOCUS: StreamContender = "joint";

const FIGURES = [
  ["throughput", "mean throughput", "frames/s"],
  ["p10", "10 % quantile of jobs", "frames/s"],
  ["worst", "slowest job", "frames/s"],
  ["waited", "waiting", "s"],
  ["sinceSubmission", "since submission", "frames/s"],
  ["decisionMs", "CPU of a decision", "ms"],
] as const;
type FigureKey = (typeof FIGURES)[number][0];

export function streamReport(input: StreamReportInput): string {
  const { scenario, results, packets, quick } = input;
  const points = scenario.points.filter(({ id }) => results.some(({ point }) => point === id));
  const others = scenario.contenders.filter((id) => id !== FOCUS);
  return experimentReport(scenario, input, {
    findings:
      results.length === 0
        ? null
        : findingList(
            others.map((other) => comparison(results, points, other)),
            quick ? "fewer points and networks" : null,
          ),
    setUp: setUp(scenario, results, points),
    results: html`${packetTable(scenario, packets)} ${panels(scenario, results, points)}
    ${points.map((point) => pointTable(scenario, results, point))} ${claims(scenario, results)}`,
    threats: html`<li>
      Intervals are percentile bootstraps over networks, which are too narrow where networks are few.
    </li>`,
    all: { title: "All networks", summary: `${results.length} runs of the model`, table: runsTable(results) },
  });
}

/** `joint's mean throughput is 1.15 to 1.67 times otfa's; …` */
export function comparison(
  results: readonly StreamResult[],
  points: readonly StreamPoint[],
  other: StreamContender,
): string {
  const ratios = points
    .map(
      ({ id }) =>
        meanOf(results, id, FOCUS, "throughput").mean / meanOf(results, id, other, "throughput").mean,
    )
    .filter(Number.isFinite);
  const losses = LOSSES.flatMap(([key, name]) => {
    const at = points.filter(
      ({ id }) => meanOf(results, id, FOCUS, key).mean < meanOf(results, id, other, key).mean,
    );
    return at.length === 0 ? [] : [`${name} at ${at.length} of ${points.length}`];
  });
  const range = `${figure(Math.min(...ratios))} to ${figure(Math.max(...ratios))}`;
  const loss =
    losses.length === 0
      ? "lower in none of mean, 10 % quantile and slowest job"
      : `lower in ${losses.join(", ")}`;
  return `${FOCUS}'s mean throughput is ${range} times ${other}'s; ${loss}.`;
}

const LOSSES = [
  ["throughput", "the mean"],
  ["p10", "the 10 % quantile"],
  ["worst", "the slowest job"],
] as const;

function setUp(
  { networks, seed, contenders }: StreamScenario,
  results: readonly StreamResult[],
  points: readonly StreamPoint[],
): readonly SetUpRow[] {
  const [first] = points;
  return [
    ["points", points.map(({ labels }) => labelText(labels)).join("; ")],
    [
      "networks",
      `${count(networks, "random network")} for each point, each with jobs of its own; seed ${seed}`,
    ],
    ...(first === undefined ? [] : [["first point", pointText(first)] as const]),
    ...contenders
      .filter((id) => results.some(({ contender }) => contender === id))
      .map((id) => [`contender ${id}`, WHO[id]] as const),
  ];
}

function pointText({ network, jobs }: StreamPoint): string {
  const promise = jobs.minThroughput === null ? "" : `, promised ${jobs.minThroughput} frames/s`;
  return `${network.nodes} nodes, links of ${network.megabitsPerSecond} Mbit/s in the mean (variance ${network.variance}), ${network.degree} links a node; ${jobs.count} jobs, ${jobs.perSecond}/s, ${jobs.durationSeconds} s each, frames of ${jobs.bytesPerFrame} bytes${promise}`;
}

/** Styles of the style sheet. `tp-tcp` almost equals `tp` and appears only in tables. */
const LOOKS: Readonly<Partial<Record<string, string>>> = {
  lr: "default",
  br: "null",
  tp: "upstream",
  otfs: "paper",
  "otfs-wait": "paper-scaled",
  otfa: "affinity",
  "otfa-repaired": "optimum",
  joint: "isochrone",
};
const lookOf = (contender: string): string => LOOKS[contender] ?? contender;

/** Panels along the axis with the most numbers, one row per setting of the others. */
function panels(
  scenario: StreamScenario,
  results: readonly StreamResult[],
  points: readonly StreamPoint[],
): Html | null {
  const axis = longestAxis(points);
  if (axis === null) return null;
  const drawn = scenario.contenders.filter((contender) => LOOKS[contender] !== undefined);
  const rows = Map.groupBy(points, ({ labels }) => labelText(labels, [axis]));
  return html`${legend(drawn, null, lookOf)}${[...rows].map(
    ([others, row]) =>
      html`<div class="panels">
        ${FIGURES.map(([key, name, unit]) => {
          const series = drawn.map((contender): PlotSeries => seriesOf(results, row, contender, axis, key));
          const y = scaleOf(series.flatMap((each) => each.points.map((point) => point.y)));
          const title = others === "" ? name : `${name}, ${others}`;
          const common = { references: [], verticals: [], isDense: false, y };
          return panelSvg({ title, xTitle: axis, yTitle: unit, series, ...common });
        })}
      </div>`,
  )}`;
}

/** Returns null if no axis has two numbers. */
function longestAxis(points: readonly StreamPoint[]): string | null {
  const values = (axis: string): number => new Set(points.map(({ labels }) => labels[axis])).size;
  const axes = Object.entries(points[0]?.labels ?? {}).flatMap(([name, value]) =>
    typeof value === "number" && values(name) > 1 ? [name] : [],
  );
  return axes.sort((a, b) => values(b) - values(a))[0] ?? null;
}

function seriesOf(
  results: readonly StreamResult[],
  row: readonly StreamPoint[],
  contender: StreamContender,
  axis: string,
  key: FigureKey,
): PlotSeries {
  const points = row.map(({ id, labels }) => {
    const { mean: y, low, high } = meanOf(results, id, contender, key);
    return { x: Number(labels[axis]), y, low, high };
  });
  return { contender, look: lookOf(contender), points };
}

function pointTable(scenario: StreamScenario, results: readonly StreamResult[], point: StreamPoint): Html {
  return table(
    `${labelText(point.labels) || "all"}: means over ${count(scenario.networks, "network")}, 95 % interval of the mean throughput`,
    [
      "contender",
      ...FIGURES.map(([, name, unit]) => `${name}, ${unit}`),
      "promise kept",
      "reroutes",
      "moved tasks",
      "never ran",
    ],
    scenario.contenders.map((contender) => {
      const of = results.filter((each) => each.point === point.id && each.contender === contender);
      const kept = of.flatMap((each) => (each.kept === null ? [] : [each.kept]));
      return [
        contender,
        ...FIGURES.map(([key]) => {
          const estimate = meanOf(results, point.id, contender, key);
          return key === "throughput" ? interval(estimate) : figure(estimate.mean);
        }),
        kept.length === 0 ? "" : percent(mean(kept)),
        figure(mean(of.map(({ reroutes }) => reroutes))),
        figure(mean(of.map(({ moves }) => moves))),
        figure(mean(of.map(({ neverRan }) => neverRan))),
      ];
    }),
  );
}

export function judgeClaim(
  results: readonly StreamResult[],
  scenario: StreamScenario,
  claim: Claim,
): { points: number; held: number } {
  const points = scenario.points.filter(
    ({ id, labels }) => hasLabels(labels, claim.where) && results.some(({ point }) => point === id),
  );
  const key = claim.statistic;
  const held = points.filter(
    ({ id }) => meanOf(results, id, claim.higher, key).mean > meanOf(results, id, claim.lower, key).mean,
  );
  return { points: points.length, held: held.length };
}

function claims(scenario: StreamScenario, results: readonly StreamResult[]): Html | null {
  if (scenario.claims.length === 0) return null;
  return html`<h2>What the paper states</h2>
    ${table(
      "Each statement, and at how many points it holds here",
      ["statement", "compared", "holds at"],
      scenario.claims.map((claim) => {
        const { points, held } = judgeClaim(results, scenario, claim);
        return [
          claim.text,
          `${claim.statistic} of ${claim.higher} above ${claim.lower}`,
          `${held} of ${points}`,
        ];
      }),
    )}`;
}

function packetTable(scenario: StreamScenario, results: readonly PacketResult[]): Html | null {
  if (results.length === 0) return null;
  const { contenders, baseline, points } = scenario;
  const rows = points.flatMap(({ id, labels }) =>
    contenders.flatMap((contender) => {
      const own = results.filter((each) => each.point === id && each.contender === contender);
      if (own.length === 0) return [];
      const base = results.filter((each) => each.point === id && each.contender === baseline);
      const jobs = own.flatMap(({ ratios }) => ratios);
      const measured = mean(own.map((each) => each.measured));
      return [
        [
          labelText(labels) || "all",
          contender,
          figure(mean(own.map((each) => each.predicted))),
          figure(measured),
          own.map((each) => figure(each.measured / each.predicted)).join(", "),
          `${figure(Math.min(...jobs))} to ${figure(Math.max(...jobs))}`,
          base.length === 0 ? "" : figure(measured / mean(base.map((each) => each.measured))),
        ],
      ];
    }),
  );
  return html`${table(
    "Packets: frames of real size over TCP between network namespaces; means over networks and jobs",
    [
      "point",
      "contender",
      "model, frames/s",
      "packets, frames/s",
      "packets / model, by network",
      "packets / model, by job",
      `packets / packets of ${baseline}`,
    ],
    rows,
  )}`;
}

function runsTable(results: readonly StreamResult[]): Html {
  return table(
    "In the order of the run",
    ["point", "network", "contender", ...FIGURES.map(([, name, unit]) => `${name}, ${unit}`), "hash"],
    results.map((result) => [
      labelText(result.labels) || "all",
      result.network + 1,
      result.contender,
      ...FIGURES.map(([key]) => figure(result[key])),
      html`<code>${result.hash}</code>`,
    ]),
  );
}
