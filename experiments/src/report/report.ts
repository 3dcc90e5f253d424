import type { ReportContext } from "../frame/experiment.ts";
import { experimentReport, factsText, type SetUpRow } from "./experiment-report.ts";
import type { CellResult } from "../run/result.ts";
import type { ContenderId, Point, Scenario } from "../scenario/model.ts";
import { agreementSection } from "./agreement.ts";
import { analyse } from "./analysis.ts";
import { findings } from "./findings.ts";
import { count, figure, labelText, percent } from "./format.ts";
import { details, html, table } from "./html.ts";
import type { Html } from "./html.ts";
import { lossSection, resultsSection } from "./results-section.ts";

interface ReportInput extends ReportContext {
  readonly scenario: Scenario;
  readonly results: readonly CellResult[];
  readonly grounds: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
}

function focusOf({ contenders, baseline }: Scenario): ContenderId | null {
  return contenders.includes("isochrone") ? "isochrone" : (contenders.find((id) => id !== baseline) ?? null);
}

export function reportHtml(input: ReportInput): string {
  const { scenario, results } = input;
  const analyses = analyse(scenario, results);
  const focus = focusOf(scenario);
  const first = scenario.points.find(({ id }) => results.some(({ point }) => point === id));
  return experimentReport(scenario, input, {
    findings: findings(input, analyses, focus),
    setUp: setUp(input, first),
    setUpDetails: first === undefined ? null : details("Workflow of the first point", workflowTable(first)),
    results: html`${analyses.map((analysis) => resultsSection(scenario, analysis, results))}
    ${agreementSection(scenario, analyses)}
    ${focus === null || focus === "null" ? null : lossSection(scenario, analyses, focus)}`,
    threats: threats(input),
    all: {
      title: "All trials",
      summary: `${results.length} cells, each as it was measured`,
      table: trialsTable(results),
    },
  });
}

function setUp({ scenario, results, grounds }: ReportInput, first: Point | undefined): readonly SetUpRow[] {
  const decided = new Map(results.map((result) => [result.contender, result.by]));
  const by = scenario.contenders.flatMap((id) => (decided.has(id) ? [[id, decided.get(id)!] as const] : []));
  const isLab = results.some(({ ground }) => ground === "lab");
  const { learnSeconds, rounds, roundSeconds } = scenario.protocol;
  return [
    ["points", pointsText(scenario, results)],
    ...(first === undefined ? [] : pointRows(first)),
    [
      "trials",
      `${scenario.trials} per point (a setting of the axes) and contender in the model${scenario.grounds.lab === null || !isLab ? "" : `, ${scenario.grounds.lab.trials} in the lab`}; seed ${scenario.seed}, load and ground drawn alike for all contenders of a trial, which makes their results pairs`,
    ],
    [
      "protocol",
      `place with nothing known of how much traffic there is; ${learnSeconds} s of learning; up to ${count(rounds, "round")} of re-placing, ${learnSeconds} s between them; warm-up; measurement${scenario.points.some(({ changes }) => changes.length > 0) ? `, a round each ${roundSeconds} s` : ""}`,
    ],
    ["known beforehand", knowledgeText(scenario, results)],
    ...by.map(([contender, who]): [string, string] => [`contender ${contender}`, who]),
    ...papersRow(decided),
    ...Object.entries(grounds).map(([name, facts]): [string, string] => [`ground ${name}`, factsText(facts)]),
  ];
}

function papersRow(decided: ReadonlyMap<string, string>): (readonly [string, string])[] {
  const texts = [...decided.values()].join(" ");
  const named = Object.entries(PAPERS).filter(([number]) => new RegExp(`\\b${number}\\b`).test(texts));
  return named.map(([number, title]) => [number, title]);
}

const PAPERS = {
  "000":
    "A. Marchese, O. Tomarchio, Orchestrating DAG Workflows on the Cloud-to-Edge Continuum, ITADATA 2023",
  "001":
    "A. Marchese, O. Tomarchio, Communication Aware Scheduling of Microservices-based Applications on Kubernetes Clusters, CLOSER 2022",
  "KEP-260": "Network-Aware Scheduling, Kubernetes enhancement proposal 260 of the scheduler-plugins project",
} as const;

/** Explains how each contender uses the same data, since they differ in what they can use. */
function knowledgeText({ contenders, points }: Scenario, results: readonly CellResult[]): string {
  const has = (contender: ContenderId): boolean => contenders.includes(contender);
  const byCalls = [has("isochrone") ? "Isochrone" : "", has("upstream") ? "upstream" : ""].filter(Boolean);
  const papers = contenders.filter((id) => id === "paper" || id === "paper-scaled");
  const measured = new Set(results.map(({ point }) => point));
  const hasIngress = points.some(({ id, workflow }) => measured.has(id) && workflow.usersAt !== null);
  const [isOne, names] = [papers.length === 1, papers.join(" and ")];
  return [
    "who calls whom is declared before the first placement",
    ...(byCalls.length === 0
      ? []
      : [`${byCalls.join(" and ")} place${byCalls.length === 1 ? "s" : ""} by it`]),
    ...(has("affinity") ? ["affinity places by it and by the types of the channels"] : []),
    ...(papers.length === 0
      ? []
      : [
          `${names} can't: ${isOne ? "its sum is" : "their sums are"} of measured traffic, and there is none yet`,
        ]),
    ...(has("optimum") ? ["optimum knows all that the workflow will do"] : []),
    ...(papers.length === 0 || !hasIngress
      ? []
      : [
          `once it runs, ${names} see${isOne ? "s" : ""} the traffic of the ingress where users come in at a node, which the paper's text doesn't have`,
        ]),
  ].join("; ");
}

function pointsText({ points }: Scenario, results: readonly CellResult[]): string {
  const measured = new Set(results.map(({ point }) => point));
  const chosen = points.filter(({ id }) => measured.has(id));
  const count =
    chosen.length === points.length ? String(points.length) : `${chosen.length} of ${points.length}`;
  return `${count}: ${axesText(chosen)}`;
}

function axesText(points: readonly Point[]): string {
  const names = Object.keys(points[0]?.labels ?? {});
  const texts = names.map((name) => {
    const values = [...new Set(points.map(({ labels }) => labels[name]!))];
    return `${name} ${values.length > 12 ? `(${values.length} values)` : values.join(", ")}`;
  });
  return texts.join("; ") || "no axes";
}

function pointRows({ cluster, workflow, load }: Point): (readonly [string, string])[] {
  const { nodes } = cluster;
  const sizes = new Set(
    nodes.map(
      ({ cpuMillicores, memoryBytes }) =>
        `${cpuMillicores / 1000} CPU and ${figure(memoryBytes / 2 ** 30)} GiB`,
    ),
  );
  const regions = new Set(nodes.map(({ region }) => region)).size;
  const pods = workflow.workloads.reduce((sum, { replicas }) => sum + replicas, 0);
  return [
    [
      "cluster",
      `${nodes.length} nodes of ${[...sizes].join(" or ")}, ${regions} region${regions === 1 ? "" : "s"}`,
    ],
    [
      "workflow",
      `${workflow.name}: ${workflow.workloads.length} workloads, ${pods} pods, called at ${workflow.entry}${workflow.usersAt === null ? ", users beside it" : ` by users at ${workflow.usersAt}`}`,
    ],
    [
      "load",
      `users send ${count(load.requestsPerSecondPerUser, "request")} per second each, whatever becomes of earlier ones; ${load.warmUpSeconds} s of warm-up${steadyText(load)}, ${load.durationSeconds} s measured`,
    ],
  ];
}

function steadyText({ steadyWithinSeconds = 0 }: Point["load"]): string {
  return steadyWithinSeconds === 0
    ? ""
    : `, longer where response times still fall from round to round, by ${steadyWithinSeconds} s at most`;
}

function workflowTable({ workflow }: Point): Html {
  const callsOf = (calls: Point["workflow"]["workloads"][number]["calls"]): string =>
    calls
      .map(
        ({ callee, probability, requestBytes, responseBytes }) =>
          `${callee}${probability < 1 ? ` (${percent(probability)})` : ""} ${requestBytes}/${responseBytes} B`,
      )
      .join(", ");
  return table(
    "Workloads, with the sizes of request and answer of their calls",
    ["workload", "pods", "CPU a call, ms", "requests", "memory, MiB", "pinned to", "calls"],
    workflow.workloads.map(({ name, replicas, cpuMs, cpuSpread, requests, memoryBytes, pinnedTo, calls }) => [
      name,
      replicas,
      `${cpuMs} ${cpuSpread}`,
      `${requests.cpuMillicores ?? 0}m, ${Math.round((requests.memoryBytes ?? 0) / 2 ** 20)} MiB`,
      Math.round(memoryBytes / 2 ** 20),
      pinnedTo ?? "",
      callsOf(calls),
    ]),
  );
}

function threats({ scenario, results, quick }: ReportInput): Html {
  const imitated = results.some(({ by }) => by.startsWith("imitation"));
  const others = scenario.contenders.filter((id) =>
    results.some(({ contender, by }) => contender === id && by.includes("in an imitation of")),
  );
  return html`${imitated ? html`<li>Decisions of the default scheduler are those of an imitation: no real kube-scheduler was handed in. <code>npm run experiment</code> does that where Go is installed.</li>` : null}
    ${!imitated && others.length > 0 ? html`<li>${others.join(", ")} decide${others.length === 1 ? "s" : ""} in an imitation of kube-scheduler, while the default scheduler is the real one: what the imitation lacks is theirs alone.</li>` : null}
    <li>
      Intervals are percentile bootstraps over trials, which cover less than the 95 % that they are called by
      where trials are few: about 90 % with ten, and about 75 % with three.
      ${quick ? "This is a quick run: it has few." : null}
    </li>
    <li>
      Pooled tests over points and trials treat pairs as independent; trials of one point share its workflow
      and cluster. Tests with a pair per point don't, but points of a grid are alike, too, and were chosen,
      not drawn.
    </li>
    <li>Intervals show the spread over trials of this set-up. They say nothing of other workflows.</li>`;
}

function trialsTable(results: readonly CellResult[]): Html {
  return table(
    "In the order of the run",
    [
      "point",
      "ground",
      "contender",
      "trial",
      "requests",
      "failed",
      "p50, ms",
      "p95, ms",
      "p99, ms",
      "mean, ms",
      "network, ms/s",
      "rounds",
      "moves",
      "hash",
    ],
    results.map(({ labels, ground, contender, trial, measured, failure, hash }) => [
      labelText(labels) || "all",
      ground,
      contender,
      trial,
      ...(measured === null
        ? [failure ?? "", "", "", "", "", "", "", "", ""]
        : [
            measured.requests,
            measured.failed,
            figure(measured.p50),
            figure(measured.p95),
            figure(measured.p99),
            figure(measured.mean),
            figure(measured.facts.cost),
            measured.rounds,
            measured.moves,
          ]),
      html`<code>${hash}</code>`,
    ]),
  );
}
