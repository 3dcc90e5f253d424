import type { ReportContext } from "../frame/experiment.ts";
import { meanOf, valuesOf } from "../frame/figures.ts";
import { experimentReport, findingList, type SetUpRow } from "../report/experiment-report.ts";
import { count, figure, interval, labelText, percent } from "../report/format.ts";
import { html, table, type Html } from "../report/html.ts";
import { legend } from "../report/marker.ts";
import { panelSvg, scaleOf, type PlotSeries } from "../report/plot.ts";
import { mean } from "../statistics/mean.ts";
import { WHO, type KaisContender } from "./contenders.ts";
import type { KaisResult } from "./cells.ts";
import { FOCUS, judgeClaim, lossesOf, ratioOf } from "./figures.ts";
import type { KaisPoint, KaisScenario } from "./scenario.ts";
import { LEARNED, type LearnedContender } from "./training/learned.ts";
import type { CurvePoint } from "./training/train.ts";

interface KaisReportInput extends ReportContext {
  readonly scenario: KaisScenario;
  readonly results: readonly KaisResult[];
  readonly requests: string;
  readonly curves: Readonly<Record<LearnedContender, readonly CurvePoint[]>>;
  readonly without: readonly string[];
}

export function kaisReport(input: KaisReportInput): string {
  const { scenario, results, quick } = input;
  const points = scenario.points.filter(({ id }) => results.some(({ point }) => point === id));
  const others = scenario.contenders.filter((id) => id !== FOCUS);
  return experimentReport(scenario, input, {
    findings: findingList(
      others.map((other) => comparison(results, points, other)),
      quick ? "few points and runs" : null,
    ),
    setUp: setUp(input),
    results: html`${overview(input, points)} ${points.map((point) => pointTable(input, point))}
    ${curves(input)} ${courses(input, points)} ${delays(input, points)} ${claims(input)} ${losses(input)}`,
    all: { title: "All runs", summary: `${results.length} runs`, table: runsTable(results) },
  });
}

/** `isochrone has 1.2 to 1.6 times greedy's share in time at 0.8 to 0.9 of its bytes.` */
export function comparison(
  results: readonly KaisResult[],
  points: readonly KaisPoint[],
  other: KaisContender,
): string {
  const range = (key: "inTime" | "movedGb"): string => {
    const ratios = points.flatMap(({ id }) => ratioOf(results, id, key, FOCUS, other)?.mean ?? []);
    if (ratios.length === 0) return "\u2013";
    const [least, most] = [figure(Math.min(...ratios)), figure(Math.max(...ratios))];
    return least === most ? least : `${least} to ${most}`;
  };
  return `${FOCUS} has ${range("inTime")} times ${other}'s share of requests in time and moves ${range("movedGb")} times its bytes.`;
}

function setUp({ scenario, results, requests, without }: KaisReportInput): readonly SetUpRow[] {
  const [first] = scenario.points;
  return [
    ["requests", requests],
    ["runs", `${count(scenario.runs, "sequence")} of requests for each point; seed ${scenario.seed}`],
    ...(first === undefined ? [] : [["first point", systemText(first)] as const]),
    ...scenario.contenders
      .filter((id) => results.some(({ contender }) => contender === id))
      .map((id) => [`contender ${id}`, WHO[id]] as const),
    ...(without.length === 0
      ? []
      : [["not run", `no weights for a system of this size: ${without.join(", ")}`] as const]),
  ];
}

function systemText({ system }: KaisPoint): string {
  const slot = system.slotSeconds === null ? "dispatch on arrival" : `slots of ${system.slotSeconds} s`;
  const hot = system.hotShare === 0 ? "" : `, ${percent(system.hotShare)} of them at one site`;
  return `${system.sites} sites with ${system.nodesPerSite.join(", ")} nodes; ${slot}, frames of ${system.frameSeconds} s; round trips of ${system.ownMs}, ${system.otherMs} and ${system.cloudMs} ms to the own site, others and the cloud; uplinks of ${system.uplinkMegabits} Mbit/s; ${system.perSecond} requests/s (${system.pattern})${hot}, for ${system.seconds} s`;
}

/** Figure 12: share in time of all contenders, all points side by side. */
function overview({ scenario, results }: KaisReportInput, points: readonly KaisPoint[]): Html {
  return table(
    "Share of requests in time, mean over the sequences",
    ["contender", ...points.map(({ labels }) => labelText(labels) || "all")],
    [
      ...scenario.contenders.map((contender) => [
        contender,
        ...points.map(({ id }) => figure(meanOf(results, id, contender, "inTime").mean)),
      ]),
      [
        "if nobody ever waits",
        ...points.map(({ id }) => figure(meanOf(results, id, scenario.baseline, "nobodyWaits").mean)),
      ],
    ],
  );
}

function pointTable({ scenario, results }: KaisReportInput, { id, labels }: KaisPoint): Html {
  const average = (contender: KaisContender, key: "added" | "cloud" | "imagesGb" | "own"): number =>
    mean(valuesOf(results, id, contender, key));
  return table(
    `${labelText(labels) || "all"}: means over the sequences with 95 % intervals`,
    [
      "contender",
      "share in time",
      "GB moved",
      "of it images",
      `share in time, times ${scenario.baseline}'s`,
      "bytes, times",
      "at the own site",
      "in the cloud",
      "replicas added",
    ],
    scenario.contenders
      .filter((contender) => valuesOf(results, id, contender, "inTime").length > 0)
      .map((contender) => {
        const inTime = ratioOf(results, id, "inTime", contender, scenario.baseline);
        const moved = ratioOf(results, id, "movedGb", contender, scenario.baseline);
        return [
          contender,
          interval(meanOf(results, id, contender, "inTime")),
          interval(meanOf(results, id, contender, "movedGb")),
          figure(average(contender, "imagesGb")),
          inTime === null ? "" : interval(inTime),
          moved === null ? "" : figure(moved.mean),
          percent(average(contender, "own")),
          percent(average(contender, "cloud")),
          figure(average(contender, "added")),
        ];
      }),
  );
}

/** Styles of the style sheet; other contenders appear only in tables. */
const LOOKS: Readonly<Partial<Record<string, string>>> = {
  greedy: "default",
  "prefer-same-zone": "default",
  "greedy-cloud": "upstream",
  "gsp-ss": "affinity",
  firmament: "paper-scaled",
  kais: "paper",
  "kais-improved": "affinity",
  weights: "upstream",
  isochrone: "isochrone",
  oracle: "optimum",
};
const lookOf = (contender: string): string => LOOKS[contender] ?? contender;

/** Figure 8a: training progress. */
function curves({ curves: all }: KaisReportInput): Html | null {
  const drawn = LEARNED.filter((contender) => all[contender].length > 0);
  if (drawn.length === 0) return null;
  const series = drawn.map((contender): PlotSeries => ({
    contender,
    look: lookOf(contender),
    points: all[contender].map(({ decisions, inTime }) => ({ x: decisions / 1e3, y: inTime })),
  }));
  return html`<h3>Training</h3>
    <p>
      Share of requests in time on generated requests that training doesn't learn from, after so many
      decisions (the paper's Figure 8a).
    </p>
    ${legend(drawn, null, lookOf)}
    <div class="panels">
      ${panelSvg({
        title: "share in time",
        xTitle: "decisions learnt from, thousands",
        yTitle: "share",
        series,
        references: [],
        verticals: [],
        isDense: true,
        y: { low: 0.5, high: 1, isLog: false },
      })}
    </div>`;
}

/** Figure 12a: course over frames, of the first sequence. */
function courses({ scenario, results }: KaisReportInput, points: readonly KaisPoint[]): Html {
  const drawn = scenario.contenders.filter((contender) => contender in LOOKS);
  return html`<h3>Over time</h3>
    <p>Share of the requests of each frame that is in time, first sequence of each point.</p>
    ${legend(drawn, null, lookOf)}
    <div class="panels">
      ${points.map(({ id, labels, system }) => {
        const series = drawn.flatMap((contender): PlotSeries[] => {
          const result = results.find(
            (one) => one.point === id && one.contender === contender && one.run === 0,
          );
          if (result === undefined) return [];
          const course = result.frames.map((y, frame) => ({ x: frame * system.frameSeconds, y }));
          return [{ contender, look: lookOf(contender), points: course }];
        });
        return panelSvg({
          title: labelText(labels) || "all",
          xTitle: "s",
          yTitle: "share in time",
          series,
          references: [],
          verticals: [],
          isDense: true,
          y: scaleOf([1]),
        });
      })}
    </div>`;
}

/** Figure 8b: time per decision. */
function delays({ scenario, results }: KaisReportInput, [first]: readonly KaisPoint[]): Html | null {
  if (first === undefined) return null;
  const text = (contender: KaisContender, key: "dispatchMs" | "orchestrateMs"): string =>
    figure(meanOf(results, first.id, contender, key).mean);
  return table(
    `Time for a decision (the paper's Figure 8b), ${labelText(first.labels) || "all"}`,
    ["contender", "dispatch of a request, ms", "a frame's orchestration, ms"],
    scenario.contenders
      .filter((contender) => valuesOf(results, first.id, contender, "dispatchMs").length > 0)
      .map((contender) => [contender, text(contender, "dispatchMs"), text(contender, "orchestrateMs")]),
  );
}

function claims({ scenario, results }: KaisReportInput): Html | null {
  if (scenario.claims.length === 0) return null;
  return html`<h2>Bounds and the paper's statements</h2>
    ${table(
      "Ratios of means, and whether they are where the statement has them",
      ["statement", "wanted", "found", "holds at"],
      scenario.claims.map((claim) => {
        const { ratios, held } = judgeClaim(scenario, results, claim);
        const bounds = [
          claim.least === null ? "" : `at least ${claim.least}`,
          claim.most === null ? "" : `at most ${claim.most}`,
        ];
        return [
          claim.text,
          bounds.filter((bound) => bound !== "").join(", "),
          ratios.map((ratio) => interval(ratio)).join("; ") || "not run",
          `${held} of ${ratios.length}`,
        ];
      }),
    )}`;
}

function losses({ scenario, results }: KaisReportInput): Html {
  const found = lossesOf(scenario, results);
  return html`<h2>Where it does not help</h2>
    ${
      found.length === 0
        ? html`<p>
            At no point has another contender more requests in time than ${FOCUS}, or moved fewer bytes.
          </p>`
        : table(
            `Contenders with more requests in time than ${FOCUS}, or fewer bytes`,
            ["point", "contender", `${FOCUS}'s share in time, times`, "bytes, times", "verdict"],
            found.map(({ point, contender, inTime, movedGb }) => [
              labelText(point.labels) || "all",
              contender,
              interval(inTime),
              interval(movedGb),
              inTime.mean < 1 ? "fewer in time" : "more in time, more bytes",
            ]),
          )
    }`;
}

function runsTable(results: readonly KaisResult[]): Html {
  return table(
    "In the order of the run",
    ["point", "run", "contender", "share in time", "GB moved", "hash"],
    results.map(({ labels, run, contender, inTime, movedGb, hash }) => [
      labelText(labels) || "all",
      run + 1,
      contender,
      inTime.toFixed(4),
      figure(movedGb),
      html`<code>${hash}</code>`,
    ]),
  );
}
