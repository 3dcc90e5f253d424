// Pods per second and CPU per pod with the extender, without it, and with constants, interleaved. `--quick`:
// 1,000 nodes, fewer runs.
import { median } from "@isochrone/primitives";
import { fastify } from "fastify";
import { readFile } from "node:fs/promises";
import { systemClock } from "@isochrone/runtime";
import { startControlPlane } from "../../harness/control-plane/index.ts";
import { BASE_CONFIG, Certificates, schedulerConfig, startReplica } from "../../harness/extender.ts";
import { graphsOf, nodeName } from "../placement/scenario.ts";
import { schedule } from "./runs.ts";
import type { Measured } from "./runs.ts";
import type { BenchResult } from "../types.ts";

const QUICK = process.argv.includes("--quick");
const NODE_COUNTS = QUICK ? [1_000] : [1_000, 5_000];
const ROUNDS = QUICK ? 2 : 4;
const PODS = 600;
const MIN_OF_PLAIN = 0.6;

export async function run(): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const nodeCount of NODE_COUNTS) results.push(...(await compare(nodeCount)));
  return results;
}

async function compare(nodeCount: number): Promise<BenchResult[]> {
  const certificates = await Certificates.create();
  const cluster = await startControlPlane({ components: ["scheduler"] });
  const trivial = await startTrivial(certificates);
  const replica = await startReplica({
    cluster,
    certificates,
    graphs: graphsOf(nodeCount, systemClock.now()),
    // Graphs of this bench don't expire. Events are off, because another bench covers hundreds per second.
    settings: { podEvents: false },
  });
  try {
    await cluster.addNodes(nodeCount, (index) => ({ name: nodeName(index), zone: `zone-${index % 6}` }));
    await cluster.createNamespace("shop");
    const configs = {
      plain: BASE_CONFIG,
      ours: await schedulerConfig(replica.url, certificates),
      trivial: await schedulerConfig(trivial.url, certificates),
    };
    const runs: Record<keyof typeof configs, Measured[]> = { plain: [], ours: [], trivial: [] };
    const names = Object.keys(configs) as (keyof typeof configs)[];
    // The first run has cold caches.
    await schedule(cluster, configs.plain, PODS);
    for (let round = 0; round < ROUNDS; round++)
      for (const name of round % 2 === 0 ? names : names.toReversed())
        runs[name].push(await schedule(cluster, configs[name], PODS));
    const latency = await replica.metrics();
    return [...throughput(nodeCount, runs), ...latencies(nodeCount, latency)];
  } finally {
    await replica.stop();
    await trivial.close();
    await cluster.close();
    await certificates.remove();
  }
}

function throughput(
  nodeCount: number,
  runs: Readonly<Record<"plain" | "ours" | "trivial", readonly Measured[]>>,
): BenchResult[] {
  const rate = (of: readonly Measured[]): number => median(of.map(({ podsPerSecond }) => podsPerSecond))!;
  const cpu = (of: readonly Measured[]): number => median(of.map(({ cpuMsPerPod }) => cpuMsPerPod))!;
  const plain = rate(runs.plain);
  // Adjacent runs have the same machine load.
  const ratio = median(
    runs.ours.map(({ podsPerSecond }, index) => podsPerSecond / runs.plain[index]!.podsPerSecond),
  )!;
  const of = `plain, ${plain.toFixed(0)} pods/s, ${cpu(runs.plain).toFixed(2)} ms CPU/pod`;
  return [
    {
      name: `${nodeCount} nodes, with the extender`,
      value: rate(runs.ours),
      unit: "pods/s",
      target: `>= ${MIN_OF_PLAIN} x plain`,
      met: ratio >= MIN_OF_PLAIN,
      peer: of,
      ratio,
    },
    {
      name: `${nodeCount} nodes, trivial extender`,
      value: rate(runs.trivial),
      unit: "pods/s",
      peer: of,
      ratio: rate(runs.trivial) / plain,
    },
    { name: `${nodeCount} nodes, with the extender, scheduler`, value: cpu(runs.ours), unit: "ms CPU/pod" },
    { name: `${nodeCount} nodes, trivial extender, scheduler`, value: cpu(runs.trivial), unit: "ms CPU/pod" },
  ];
}

/** Our own latencies, from the parsed request to the text: upper limits of the buckets with the quantiles. */
function latencies(nodeCount: number, metrics: string): BenchResult[] {
  return ["prioritize"].flatMap((verb) =>
    [0.5, 0.99].map((quantile) => ({
      name: `${nodeCount} nodes, ${verb} p${quantile * 100}`,
      value: bucketOf(metrics, verb, quantile) * 1_000,
      unit: "ms at most",
    })),
  );
}

function bucketOf(metrics: string, verb: string, quantile: number): number {
  const buckets = [
    ...metrics.matchAll(/^isochrone_scheduler_request_seconds_bucket\{le="([^"]+)",verb="(\w+)"\} (\d+)/gm),
  ]
    .filter(([, , of]) => of === verb)
    .map(([, end, , count]) => ({ end: Number(end === "+Inf" ? Infinity : end), count: Number(count) }));
  const total = buckets.at(-1)?.count ?? 0;
  return buckets.find(({ count }) => count >= quantile * total)?.end ?? Number.NaN;
}

/** A minimal extender behind the same certificates. */
async function startTrivial({
  server,
  authority,
}: Certificates): Promise<{ url: string; close: () => Promise<void> }> {
  const [cert, key, ca] = await Promise.all(
    [server.certFile, server.keyFile, authority.caFile].map((file) => readFile(file)),
  );
  const app = fastify({
    bodyLimit: 64 * 1024 * 1024,
    https: { cert, key, ca, requestCert: true, rejectUnauthorized: true },
  });
  app.post("/scheduler/prioritize", (request, reply) => {
    const { NodeNames } = request.body as { NodeNames: string[] };
    let text = "[";
    for (const name of NodeNames) text += `${text.length > 1 ? "," : ""}{"Host":"${name}","Score":5}`;
    return reply.header("content-type", "application/json; charset=utf-8").send(`${text}]`);
  });
  const url = (await app.listen({ host: "127.0.0.1", port: 0 })).replace("http:", "https:");
  return { url: `${url}/scheduler`, close: () => app.close() };
}
