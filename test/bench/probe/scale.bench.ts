// All probes are real with their own loopback address. Many share a process, and all but one run at longer
// intervals. For quick runs: ISOCHRONE_BENCH_SCALE_NODES=100,300 ISOCHRONE_BENCH_SCALE_INTERVAL_MS=5000.
import { readFileSync } from "node:fs";
import { probeConfig } from "@isochrone/probe/testing";
import type { BenchResult } from "../types.ts";
import type { Pace } from "./scale/messages.ts";
import { descriptorsOf, runStage, type StageResult } from "./scale/stage.ts";
import { markdown } from "./scale/table.ts";

const SIZES = process.env["ISOCHRONE_BENCH_SCALE_NODES"]?.split(",").map(Number) ?? [100, 1000, 5000];
/** Interval of all nodes but one. Leaves some CPU of two cores idle with thousands of nodes. */
const INTERVAL_MS = Number(process.env["ISOCHRONE_BENCH_SCALE_INTERVAL_MS"] ?? 30_000);
/** The same for all sizes, so that the fixed cost of a process weighs the same. */
const NODES_PER_PROCESS = 80;
/** The largest cluster on two cores in which all nodes probe. */
const ALL_PROBE = 1000;
/** In addition to the witness and its neighbours. All others have a plan and respond. */
const SAMPLE = 320;
/** Below the kernel's ephemeral ports. */
const PORT = 7411;
const MOST_PEERS = 30;
/** Duration of the measurement, in publish intervals. */
const WINDOW_INTERVALS = 1;
/** Maximum growth of a node's cost in the largest cluster. CPU has a margin for other programs. */
const GROWTH = { count: 1.1, cpu: 1.25 };

const { intervalMs, publishIntervalMs, connectIntervalMs, zeroCheckIntervalMs, planRefreshMs } = probeConfig({
  node: "any",
  identity: "127.0.0.1",
  authentication: "none",
});
const DEFAULT_PACE: Pace = {
  intervalMs,
  publishIntervalMs,
  connectIntervalMs,
  zeroCheckIntervalMs,
  planRefreshMs,
};

export async function run(): Promise<BenchResult[]> {
  checkDescriptors();
  // Children end with this process. This process must end with its own parent.
  const exit = (): void => process.exit(1);
  process.once("disconnect", exit);
  const stages: StageResult[] = [];
  try {
    for (const nodes of SIZES) {
      console.error(`scale: ${nodes} nodes`);
      stages.push(
        await runStage({
          nodes,
          pace: slowedDown(INTERVAL_MS),
          defaultPace: DEFAULT_PACE,
          port: PORT,
          windowMs: WINDOW_INTERVALS * slowedDown(INTERVAL_MS).publishIntervalMs,
          maxProbing: nodes <= ALL_PROBE ? nodes : SAMPLE,
          nodesPerProcess: NODES_PER_PROCESS,
        }),
      );
    }
  } finally {
    process.removeListener("disconnect", exit);
    if (stages.length > 0) console.error(markdown(stages));
  }
  return stages.flatMap((stage) => resultsOf(stage, stages[0]!));
}

function slowedDown(interval: number): Pace {
  const factor = interval / intervalMs;
  return {
    intervalMs: interval,
    publishIntervalMs: Math.max(interval, publishIntervalMs),
    connectIntervalMs: connectIntervalMs * factor,
    zeroCheckIntervalMs: zeroCheckIntervalMs * factor,
    planRefreshMs: planRefreshMs * factor,
  };
}

function resultsOf(stage: StageResult, first: StageResult): BenchResult[] {
  const name = `scale.${stage.options.nodes}`;
  const { outcomes } = stage;
  const rows: BenchResult[] = [
    compared(`${name}.plan`, "bytes", GROWTH.count, stage, first, ({ plans }) => plans.bytes.mean),
    compared(`${name}.peers`, "peers", GROWTH.count, stage, first, ({ plans }) => plans.peersPerNode.mean),
    { name: `${name}.in_degree_max`, value: stage.plans.inDegree.max, unit: "nodes" },
    { name: `${name}.plan_request`, value: stage.plans.requestMs.p50, unit: "ms" },
    { name: `${name}.choose_peers`, value: stage.assignMs, unit: "ms" },
  ];
  for (const part of ["group", "witness"] as const) {
    const of = `${name}.${part}`;
    rows.push(
      compared(`${of}.packets`, "1/s", GROWTH.count, stage, first, (s) => s[part].packetsPerSecond),
      compared(`${of}.cpu`, "ms/s", GROWTH.cpu, stage, first, (s) => cpuOf(s, part)),
      compared(`${of}.resident`, "MB", GROWTH.cpu, stage, first, (s) => s[part].rssBytes / 1e6),
      compared(`${of}.series`, "series", GROWTH.count, stage, first, (s) => s[part].series.mean),
      compared(`${of}.otlp`, "bytes/s", GROWTH.count, stage, first, (s) => s[part].otlpBytesPerSecond),
    );
  }
  const { aggregator } = stage;
  return [
    ...rows,
    {
      name: `${name}.lost`,
      value: outcomes["lost"] ?? 0,
      unit: `of ${outcomes["sent"] ?? 0} packets`,
      target: "0",
      met: outcomes["lost"] === 0,
    },
    { name: `${name}.links`, value: aggregator.links, unit: "links" },
    { name: `${name}.aggregator.cpu`, value: (1000 * aggregator.cpuMs) / aggregator.elapsedMs, unit: "ms/s" },
    { name: `${name}.aggregator.resident`, value: aggregator.rssBytes / 1e6, unit: "MB" },
  ];
}

/** Requests of the group are answered by others. If they do nothing else, their CPU is part of the cost. */
function cpuOf(stage: StageResult, part: "group" | "witness"): number {
  return stage[part].cpuMsPerSecond + (part === "group" ? stage.answeringCpuMsPerSecond : 0);
}

function compared(
  name: string,
  unit: string,
  growth: number,
  stage: StageResult,
  first: StageResult,
  valueOf: (stage: StageResult) => number,
): BenchResult {
  const value = valueOf(stage);
  if (stage === first) return { name, value, unit };
  const ratio = value / valueOf(first);
  return {
    name,
    value,
    unit,
    target: `<= ${growth} x ${first.options.nodes} nodes`,
    met: ratio <= growth,
    peer: `${first.options.nodes} nodes`,
    ratio,
  };
}

/** @throws Error if a process may not open enough sockets for its nodes */
function checkDescriptors(): void {
  const line = /^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
  const limit = Number(line?.[1] ?? 0);
  const needed = descriptorsOf(NODES_PER_PROCESS, MOST_PEERS);
  // Node raises its own soft limit to the hard one.
  if (limit > 0 && limit < needed)
    throw new Error(`the hard limit of open files must be at least ${needed} (ulimit -Hn), got ${limit}`);
}
