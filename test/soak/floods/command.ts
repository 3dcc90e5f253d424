// `npm run soak -- floods`: an aggregator of size small must survive each flood with a current graph.
import { nearestRank, ascending } from "@isochrone/primitives";
import { seededRandom } from "@isochrone/runtime";
import { parseArgs } from "node:util";
import { numberOption } from "../numbers.ts";
import { processUse } from "../proc.ts";
import { mebibytes } from "../verdict.ts";
import { FLOODS, type Flood } from "./floods.ts";
import { Honest } from "./honest.ts";
import { FloodedAggregator, MAX_RSS_BYTES } from "./processes.ts";

const USAGE = `npm run soak -- floods [--minutes N of each (10)] [--only ${Object.keys(FLOODS).join("|")}] [--seed N (1)]`;
const NODES = Array.from({ length: 20 }, (_, at) => `node-${at}`);
const PANE_MS = 10_000;
const MAX_AGE_MS = 3 * PANE_MS;
const WARM_UP_MS = 20_000;
const SETTLE_MS = 2 * PANE_MS;
const SAMPLE_MS = 250;

interface Check {
  readonly what: string;
  readonly ok: boolean;
}

export async function runFloods(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "10" },
      only: { type: "string" },
      seed: { type: "string", default: "1" },
    },
  });
  const { only } = values;
  if (only !== undefined && !Object.hasOwn(FLOODS, only))
    throw new Error(`--only must be one of ${Object.keys(FLOODS).join(", ")}, got "${only}"\n${USAGE}`);
  const floodMs = numberOption("--minutes", values.minutes, 0.1, 24 * 60, USAGE) * 60_000;
  const seed = numberOption("--seed", values.seed, 0, 2 ** 31, USAGE);
  let passed = true;
  for (const [name, flood] of Object.entries(FLOODS)) {
    if (only !== undefined && only !== name) continue;
    console.log(`\n${name} (row ${flood.row}): ${flood.about}, for ${floodMs / 60_000} min, seed ${seed}`);
    for (const { what, ok } of await runFlood(flood, floodMs, seed)) {
      console.log(`${ok ? "ok    " : "FAILED"} ${what}`);
      passed &&= ok;
    }
  }
  return passed;
}

async function runFlood(flood: Flood, floodMs: number, seed: number): Promise<Check[]> {
  const aggregator = await FloodedAggregator.start({ nodes: NODES, settings: {} });
  const honest = new Honest(aggregator.url, NODES);
  const ending = new AbortController();
  try {
    honest.start();
    await sleep(WARM_UP_MS);
    const calm = honest.seen.agesMs.length;
    const target = { url: aggregator.url, nodes: NODES, random: seededRandom(seed), signal: ending.signal };
    const flooding = flood.run({ ...target, create: (object) => aggregator.create(object) });
    const peakBytes = await watch(aggregator, floodMs);
    const faults = await honest.faults().catch(() => null);
    const { agesMs, ...seen } = honest.seen;
    ending.abort();
    await flooding;
    await sleep(SETTLE_MS);
    const after = await honest.faults().catch(() => null);
    const during = agesMs.slice(calm);
    const p99Ms = nearestRank(ascending(during), 0.99) ?? Number.NaN;
    const checks: Check[] = [
      {
        what: `the aggregator lives on${aggregator.isRunning ? "" : `:\n${aggregator.log}`}`,
        ok: aggregator.isRunning,
      },
      {
        what: `largest memory ${mebibytes(peakBytes)} of ${mebibytes(MAX_RSS_BYTES)} MiB`,
        ok: peakBytes <= MAX_RSS_BYTES,
      },
      {
        what: `age of the graph p99 ${(p99Ms / 1000).toFixed(1)} s, at most 3 panes`,
        ok: p99Ms <= MAX_AGE_MS,
      },
      { what: `honest data during the flood: ${JSON.stringify(faults)}`, ok: isComplete(faults) },
      { what: `honest data after the flood: ${JSON.stringify(after)}`, ok: isComplete(after) },
      { what: `records that honest probes dropped: ${seen.dropped}`, ok: seen.dropped === 0 },
      { what: `health that was not answered: ${seen.healthFailures}`, ok: seen.healthFailures === 0 },
      {
        what: `event streams that a page got: ${seen.streams}, refused: ${seen.streamFailures}`,
        ok: seen.streams > 0 && seen.streamFailures === 0,
      },
    ];
    return checks;
  } finally {
    ending.abort();
    await honest.stop();
    await aggregator.stop();
  }
}

function isComplete(faults: Awaited<ReturnType<Honest["faults"]>> | null): boolean {
  return faults !== null && faults.absent + faults.wrong + faults.invented === 0;
}

async function watch(aggregator: FloodedAggregator, floodMs: number): Promise<number> {
  let peakBytes = 0;
  for (const endMs = Date.now() + floodMs; Date.now() < endMs && aggregator.isRunning;) {
    peakBytes = Math.max(peakBytes, processUse(aggregator.pid)?.rssBytes ?? 0);
    await sleep(SAMPLE_MS);
  }
  return peakBytes;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
