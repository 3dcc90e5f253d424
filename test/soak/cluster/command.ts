// `npm run soak -- cluster`: thousands of nodes at the producers, a real broker, one aggregator.
import { parseArgs } from "node:util";
import { numberOption } from "../numbers.ts";
import { memorySlope, simulate, type ClusterSample } from "./simulation.ts";

const USAGE =
  "npm run soak -- cluster [--minutes N (30)] [--nodes N (5000)] [--producers N (1)] [--client platformatic|kafkajs]";
const PODS_PER_NODE = 20;
const SCRAPE_PERIOD_MS = 15_000;
const MAX_RSS_BYTES = 2 * 2 ** 30;
const MAX_SLOPE = 0.01;
const SAMPLED_CHANNELS = 1000;

export async function runCluster(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "30" },
      nodes: { type: "string", default: "5000" },
      producers: { type: "string", default: "1" },
      client: { type: "string", default: "platformatic" },
    },
  });
  const { client } = values;
  if (client !== "platformatic" && client !== "kafkajs")
    throw new Error(`--client must be platformatic or kafkajs, got "${client}"\n${USAGE}`);
  const durationMs = numberOption("--minutes", values.minutes, 0.5, 24 * 60, USAGE) * 60_000;
  const result = await simulate({
    nodes: numberOption("--nodes", values.nodes, 10, 10_000, USAGE),
    podsPerNode: PODS_PER_NODE,
    scrapePeriodMs: SCRAPE_PERIOD_MS,
    durationMs,
    windowMs: Math.min(300_000, Math.floor(durationMs / 20_000) * 10_000),
    producers: numberOption("--producers", values.producers, 1, 16, USAGE),
    client,
    sampledChannels: SAMPLED_CHANNELS,
    log: (line) => console.log(line),
  });
  const { samples, channels, published, counted } = result;
  console.log(`\n${quarters(samples)}\n`);
  const slope = memorySlope(samples);
  const peak = Math.max(...samples.map(({ rssBytes }) => rssBytes));
  const checks: [string, boolean][] = [
    [`${published} points published, ${counted} counted`, published === counted],
    [`missing records ${samples.at(-1)!.missing}`, samples.at(-1)!.missing === 0],
    [
      `channels: ${channels.compared} compared, ${channels.absent} absent, error median ${percent(channels.median)}, largest ${percent(channels.largest)} (${percent(channels.steadyLargest)} where no pod was replaced), ${channels.above1Percent} above 1 %, ${channels.churned} with replaced pods`,
      channels.absent === 0 && channels.above1Percent === 0,
    ],
    [`largest memory ${mebibytes(peak)} MiB`, peak <= MAX_RSS_BYTES],
    [`memory over the second half ${slope >= 0 ? "+" : ""}${percent(slope)}`, slope < MAX_SLOPE],
  ];
  console.log(`${Math.round(result.pointsPerSecond)} points/s, ${result.links} links`);
  for (const [text, ok] of checks) console.log(`${ok ? "ok    " : "FAILED"} ${text}`);
  return checks.every(([, ok]) => ok);
}

function quarters(samples: readonly ClusterSample[]): string {
  return [0, 0.25, 0.5, 0.75, 1]
    .map((part) => {
      const { rssBytes, series, points } = samples[Math.round(part * (samples.length - 1))]!;
      return `${String(part * 100).padStart(3)} %  ${mebibytes(rssBytes)} MiB  ${series} series  ${points} points`;
    })
    .join("\n");
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}

function percent(ratio: number): string {
  return `${(ratio * 100).toFixed(2)} %`;
}
