// One pod with 50 placed neighbours over all nodes, without caches for the pod, its workload or their
// placement.
import { nearestRank, ascending } from "@isochrone/primitives";
import { createNetworkOverhead } from "@isochrone/placement";
import { CHECKSUMS } from "@isochrone/placement/testing";
import { createLogger, createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { createSchedulerPlugin, schedulerPluginSettings } from "@isochrone/scheduler-plugin";
import { ColumnPool } from "@isochrone/placement";
import { Agent, request } from "node:http";
import type { BenchResult } from "../types.ts";
import { coldGraphs, fixtureOf, LIMITS, overheadBody } from "./overhead-fixture.ts";
import type { Fixture } from "./overhead-fixture.ts";

const WARM_UP = 300;
const ROUNDS = 300;
const HTTP_WARM_UP = 100;
const HTTP_ROUNDS = 150;

export async function run(): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const limit of LIMITS) {
    const fixture = fixtureOf(limit.nodes);
    results.push(inProcess(fixture, "upstream", limit.inProcessMs), inProcess(fixture, "strict"));
    results.push(...(await overHttp(fixture, limit.overHttpMs)));
  }
  return results;
}

function inProcess(fixture: Fixture, mode: "upstream" | "strict", limitMs?: number): BenchResult {
  const { problem, freshWorkflow } = fixture;
  const strategy = createNetworkOverhead(mode);
  const pool = new ColumnPool();
  const times: number[] = [];
  const nodes = problem.candidates.length;
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const cold = { ...problem, workflow: { graph: freshWorkflow(), ageSeconds: 0 } };
    const startMs = performance.now();
    const rejected = strategy.filter?.(cold);
    const table = strategy.score(cold, pool);
    const elapsedMs = performance.now() - startMs;
    if (round >= WARM_UP) times.push(elapsedMs);
    if (mode === "upstream") check(nodes, nodes - rejected!.size, table.raw, table.score);
  }
  return judged(`${nodes} nodes, ${mode}, in process`, times, limitMs);
}

/** Verifies the result, because a figure for a wrong result is worthless. */
function check(nodes: number, pass: number, raw: Float64Array, score: Float64Array): void {
  const wanted = CHECKSUMS.find((sums) => sums.nodes === nodes)!;
  const sum = (column: Float64Array): number => column.reduce((total, value) => total + value, 0);
  if (pass !== wanted.pass || sum(raw) !== wanted.rawSum || sum(score) !== wanted.scoreSum)
    throw new Error(`${nodes} nodes give ${pass}, ${sum(raw)}, ${sum(score)}, not ${JSON.stringify(wanted)}`);
}

/** Until the last byte of each response on a kept connection. Parsing is the client's cost. */
async function overHttp(fixture: Fixture, limitMs: number): Promise<BenchResult[]> {
  const graphs = coldGraphs(fixture);
  const config = loadSettings([schedulerPluginSettings], {
    env: {},
    overrides: { scheduler: { port: 0 } },
  }).scheduler;
  const profile = { strategy: "network-overhead", mode: "upstream" } as Pick<
    typeof config,
    "strategy" | "mode"
  >;
  const plugin = createSchedulerPlugin(
    { ...config, ...profile },
    {
      clock: systemClock,
      random: systemRandom,
      logger: createLogger({ service: "bench", level: "error" }),
      registry: createRegistry(),
      graphs,
    },
  );
  await plugin.start();
  const { url } = plugin.address();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const names = fixture.problem.candidates;
  const pass = CHECKSUMS.find((sums) => sums.nodes === names.length)!.pass;
  const times: number[] = [];
  let cpuMs = 0;
  try {
    for (let round = 0; round < HTTP_WARM_UP + HTTP_ROUNDS; round++) {
      const body = overheadBody(names, round);
      graphs.next();
      const used = process.cpuUsage();
      const first = await asked(agent, `${url}/scheduler/filter`, body);
      const second = await asked(agent, `${url}/scheduler/prioritize`, body);
      const { user, system } = process.cpuUsage(used);
      if (round >= HTTP_WARM_UP) {
        times.push(first.elapsedMs + second.elapsedMs);
        cpuMs += (user + system) / 1000 / HTTP_ROUNDS;
      }
      const filtered = JSON.parse(first.text) as { NodeNames: string[] };
      const scores = JSON.parse(second.text) as unknown[];
      if (filtered.NodeNames.length !== pass)
        throw new Error(`${filtered.NodeNames.length} nodes passed, not ${pass}`);
      if (scores.length === 0) throw new Error("no node was told apart");
    }
  } finally {
    agent.destroy();
    await plugin.stop();
  }
  return [
    judged(`${names.length} nodes, upstream, over HTTP, both verbs`, times, limitMs),
    // On a busy machine CPU is more reliable than time. It includes the client in the same process.
    { name: `${names.length} nodes, the same, CPU of both ends`, value: cpuMs, unit: "ms CPU" },
  ];
}

interface Answer {
  readonly text: string;
  readonly elapsedMs: number;
}

function asked(agent: Agent, url: string, body: Buffer): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const startMs = performance.now();
  const headers = { "content-type": "application/json", "content-length": body.length };
  const sent = request(url, { agent, method: "POST", headers }, (response) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("end", () => {
      const elapsedMs = performance.now() - startMs;
      const text = Buffer.concat(chunks).toString();
      if (response.statusCode === 200) resolve({ text, elapsedMs });
      else reject(new Error(`${url} answered ${response.statusCode}: ${text.slice(0, 200)}`));
    });
  });
  sent.on("error", reject);
  sent.end(body);
  return promise;
}

function judged(name: string, times: readonly number[], limitMs?: number): BenchResult {
  const value = nearestRank(ascending(times), 0.5)!;
  const result = {
    name: `${name}, p50 (p99 ${nearestRank(ascending(times), 0.99)!.toPrecision(3)} ms)`,
    value,
    unit: "ms",
  };
  return limitMs === undefined ? result : { ...result, target: `<= ${limitMs} ms`, met: value <= limitMs };
}
