import type { NodeFigures, StageResult } from "./stage.ts";
import type { Spread } from "./plans.ts";

type Line = readonly [what: string, valueOf: (stage: StageResult) => string];

const LINES: readonly Line[] = [
  ["simulated nodes", ({ options }) => grouped(options.nodes)],
  [
    "of them with a real probe / with a real responder only",
    ({ probing, answering }) => `${grouped(probing)} / ${grouped(answering)}`,
  ],
  ["interval per peer and method, s", ({ options }) => String(options.pace.intervalMs / 1000)],
  ["plan, bytes (mean / max)", ({ plans }) => `${number(plans.bytes.mean)} / ${number(plans.bytes.max)}`],
  ["peers per node (min / mean / max)", ({ plans }) => spread(plans.peersPerNode)],
  ["probed by (min / mean / max)", ({ plans }) => spread(plans.inDegree)],
  [
    "plan request over HTTP, ms (p50 / max)",
    ({ plans }) => `${number(plans.requestMs.p50)} / ${number(plans.requestMs.max)}`,
  ],
  ["choosing all peers, ms", ({ assignMs }) => number(assignMs)],
  ...nodeLines("in a group", (stage) => stage.group),
  [
    "a node in a group: CPU of its answers elsewhere, ms per second",
    ({ answeringCpuMsPerSecond }) => number(answeringCpuMsPerSecond),
  ],
  ...nodeLines("alone, 1 s interval", (stage) => stage.witness),
  ["packets sent in the window", ({ outcomes }) => grouped(outcomes["sent"] ?? 0)],
  ["lost / late / corrupt / send errors", ({ outcomes }) => misses(outcomes)],
  ["lost by method", ({ lostByMethod }) => named(lostByMethod)],
  ["samples discarded", ({ outcomes }) => grouped(outcomes["discarded"] ?? 0)],
  ["links in the graph (a method each)", ({ aggregator }) => grouped(aggregator.links)],
  ["links per node", ({ aggregator, options }) => number(aggregator.links / options.nodes)],
  [
    "aggregator, CPU ms/s (main thread)",
    ({ aggregator: { cpuMs, mainCpuMs, elapsedMs } }) =>
      `${number((1000 * cpuMs) / elapsedMs)} (${number((1000 * mainCpuMs) / elapsedMs)})`,
  ],
  [
    "aggregator, CPU ms/s per 1,000 nodes (main thread)",
    ({ aggregator: { cpuMs, mainCpuMs, elapsedMs }, options: { nodes } }) =>
      `${number((1e6 * cpuMs) / elapsedMs / nodes)} (${number((1e6 * mainCpuMs) / elapsedMs / nodes)})`,
  ],
  [
    "aggregator, one build of the graphs, ms",
    ({ aggregator: { buildMs, builds } }) => number(buildMs / builds),
  ],
  ["aggregator, resident, MB", ({ aggregator }) => number(aggregator.rssBytes / 1e6)],
  ["aggregator, records missing / refused", ({ aggregator: a }) => `${a.missingRecords} / ${a.refused}`],
  ["probes, records dropped", ({ droppedRecords }) => grouped(droppedRecords)],
  ["time to start all, s", ({ startMs }) => number(startMs / 1000)],
];

export function markdown(stages: readonly StageResult[]): string {
  const rows = LINES.map(([what, valueOf]) => [what, ...stages.map(valueOf)]);
  const [head, ...body] = rows.map((cells) => `| ${cells.join(" | ")} |`);
  return [head, `| --- |${" ---: |".repeat(stages.length)}`, ...body].join("\n");
}

function nodeLines(where: string, of: (stage: StageResult) => NodeFigures): Line[] {
  return [
    [
      `a node ${where}: measured nodes / processes`,
      (stage) => `${grouped(of(stage).nodes)} / ${of(stage).processes}`,
    ],
    [`a node ${where}: packets sent per second`, (stage) => number(of(stage).packetsPerSecond)],
    [`a node ${where}: CPU, ms per second`, (stage) => number(of(stage).cpuMsPerSecond)],
    [`a node ${where}: resident, MB`, (stage) => number(of(stage).rssBytes / 1e6)],
    [`a node ${where}: series (min / mean / max)`, (stage) => spread(of(stage).series)],
    [
      `a node ${where}: OTLP, bytes per second (compressed)`,
      (stage) =>
        `${number(of(stage).otlpBytesPerSecond)} (${number(of(stage).otlpCompressedBytesPerSecond)})`,
    ],
  ];
}

function named(counts: Readonly<Record<string, number>>): string {
  return (
    Object.entries(counts)
      .map(([name, count]) => `${name} ${grouped(count)}`)
      .join(", ") || "-"
  );
}

function misses(outcomes: Readonly<Record<string, number>>): string {
  return ["lost", "late", "corrupt", "send_error"].map((name) => grouped(outcomes[name] ?? 0)).join(" / ");
}

function spread({ min, mean, max }: Spread): string {
  return [min, mean, max].map(number).join(" / ");
}

function number(value: number): string {
  if (!Number.isFinite(value)) return "-";
  return Math.abs(value) >= 1000 ? grouped(value) : String(Number(value.toPrecision(3)));
}

function grouped(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
