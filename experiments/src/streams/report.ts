// The report of a scenario of streams: one HTML file.
import { seededRandom } from "@isochrone/runtime";
import { count, figure, labelText, percent } from "../report/format.ts";
import { details, facts, html, prose, table, type Html } from "../report/html.ts";
import { reportPage } from "../report/page.ts";
import { legend } from "../report/marker.ts";
import { panelSvg, scaleOf, type PlotSeries } from "../report/plot.ts";
import { estimateMean, type Estimate } from "../statistics/bootstrap.ts";
import type { PacketResult } from "./packets.ts";
import { packetTable } from "./packet-table.ts";
import type { StreamResult } from "./run.ts";
import type { Claim, StreamContender, StreamPoint, StreamScenario } from "./scenario.ts";

interface StreamReportInput {
  readonly scenario: StreamScenario;
  readonly results: readonly StreamResult[];
  /** Of the lab. */
  readonly packets: readonly PacketResult[];
  readonly command: string;
  readonly quick: boolean;
  readonly machine: Readonly<Record<string, string | number>>;
}

/** Whom the report is about. */
export const FOCUS: StreamContender = "joint";
const SEED = 1;

/** Which figure of the results is drawn and listed. */
const FIGURES = [
  ["throughput", "mean throughput", "frames/s"],
  ["p10", "10 % quantile of jobs", "frames/s"],
  ["worst", "slowest job", "frames/s"],
  ["waited", "waiting", "s"],
  ["sinceSubmission", "since submission", "frames/s"],
  ["decisionMs", "CPU of a decision", "ms"],
] as const;
type FigureKey = (typeof FIGURES)[number][0];

const WHO: Readonly<Record<StreamContender, string>> = {
  lr: "LeastRequestedPriority of kube-scheduler: the whole job on one node",
  br: "BalancedResourceAllocation of kube-scheduler: the whole job on one node",
  tp: "tasks placed by Algorithm 1, shortest paths, links shared equally by flows",
  "tp-tcp": "as tp, links shared as TCP shares them",
  otfs: "Algorithm 3; a job for which no bandwidth is left runs without any",
  "otfs-wait": "Algorithm 3; a job for which no bandwidth is left waits",
  otfa: "Algorithm 4 as printed",
  "otfa-repaired": "Algorithm 4, ties broken by length, capacity that is left given to jobs",
  joint: "Isochrone: nodes, paths and rates by one search, rates by job",
};

export function meanOf(
  results: readonly StreamResult[],
  point: string,
  contender: StreamContender,
  key: FigureKey,
): Estimate {
  const values = results
    .filter((each) => each.point === point && each.contender === contender)
    .map((each) => each[key]);
  return estimateMean(values, seededRandom(SEED));
}

export function streamReport(input: StreamReportInput): string {
  const { scenario, results, packets } = input;
  const measured = scenario.points.filter(({ id }) => results.some(({ point }) => point === id));
  return reportPage(
    scenario,
    html`${results.length === 0 ? null : findings(input, measured)} ${setUp(input, measured)}
      <h2>Results</h2>
      ${packetTable(scenario, packets)} ${panels(scenario, results, measured)}
      ${measured.map((point) => pointTable(scenario, results, point))} ${claims(scenario, results)}
      <h2>Threats to validity</h2>
      <ul>
        ${scenario.threats.map((threat) => html`<li>${prose(threat)}</li>`)}
        <li>
          Intervals are percentile bootstraps over networks, which are too narrow where networks are few.
        </li>
      </ul>
      <h2>All networks</h2>
      ${details(`${results.length} runs of the model`, runsTable(results))}`,
  );
}

/** A sentence for each contender that the focus is compared with, and where it loses. */
function findings({ scenario, results, quick }: StreamReportInput, points: readonly StreamPoint[]): Html {
  const others = scenario.contenders.filter((id) => id !== FOCUS);
  return html`<div class="finding">
    <ul>
      ${others.map((other) => html`<li>${comparison(results, points, other)}</li>`)}
    </ul>
    ${quick ? html`<p>This is a quick run: fewer points and networks. It shows directions, not sizes.</p>` : null}
  </div>`;
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
  { scenario, results, command, machine }: StreamReportInput,
  points: readonly StreamPoint[],
): Html {
  const [first] = points;
  const rows: (readonly [string, string | Html])[] = [
    ["source", prose(scenario.source)],
    ["points", points.map(({ labels }) => labelText(labels)).join("; ")],
    [
      "networks",
      `${count(scenario.networks, "random network")} for each point, each with jobs of its own; seed ${scenario.seed}`,
    ],
    ...(first === undefined ? [] : [["first point", pointText(first)] as const]),
    ...scenario.contenders
      .filter((id) => results.some(({ contender }) => contender === id))
      .map((id) => [`contender ${id}`, WHO[id]] as const),
    [
      "machine",
      Object.entries(machine)
        .map(([name, value]) => `${name}: ${value}`)
        .join("; "),
    ],
    ["command", html`<code>${command}</code>`],
  ];
  return html`<h2>Set-up</h2>
    ${facts(rows)}`;
}

function pointText({ network, jobs }: StreamPoint): string {
  const promise = jobs.minThroughput === null ? "" : `, promised ${jobs.minThroughput} frames/s`;
  return `${network.nodes} nodes, links of ${network.megabitsPerSecond} Mbit/s in the mean (variance ${network.variance}), ${network.degree} links a node; ${jobs.count} jobs, ${jobs.perSecond}/s, ${jobs.durationSeconds} s each, frames of ${jobs.bytesPerFrame} bytes${promise}`;
}

/** Looks of the style sheet; `tp-tcp` is hardly told apart from `tp` and stands in the tables alone. */
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

/** Along the axis with the most numbers, a row of panels for each setting of the others. */
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

/** Null where no axis has two numbers. */
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
    const { mean, low, high } = meanOf(results, id, contender, key);
    return { x: Number(labels[axis]), y: mean, low, high };
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
      const average = (values: readonly number[]): number =>
        values.reduce((sum, value) => sum + value, 0) / values.length;
      return [
        contender,
        ...FIGURES.map(([key]) => {
          const { mean, low, high } = meanOf(results, point.id, contender, key);
          return key === "throughput" ? `${figure(mean)} [${figure(low)}, ${figure(high)}]` : figure(mean);
        }),
        kept.length === 0 ? "" : percent(average(kept)),
        figure(average(of.map(({ reroutes }) => reroutes))),
        figure(average(of.map(({ moves }) => moves))),
        figure(average(of.map(({ neverRan }) => neverRan))),
      ];
    }),
  );
}

/** Which of the paper's statements hold here. */
export function judgeClaim(
  results: readonly StreamResult[],
  scenario: StreamScenario,
  claim: Claim,
): { points: number; held: number } {
  const points = scenario.points.filter(
    ({ id, labels }) =>
      Object.entries(claim.where).every(([name, value]) => labels[name] === value) &&
      results.some(({ point }) => point === id),
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
