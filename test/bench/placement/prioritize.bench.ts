// Compares /prioritize with an extender that parses the request and returns constants. The same client
// alternates, so that the machine's load affects both.
import { Agent, request } from "node:http";
import { createLogger, createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { createSchedulerPlugin, schedulerPluginSettings } from "@isochrone/scheduler-plugin";
import { fastify } from "fastify";
import type { BenchResult } from "../types.ts";
import { allNames, graphsOf, requestBody, shuffledNames } from "./scenario.ts";

const NODE_COUNTS = [100, 1_000, 5_000];
/** Rounds until both are compiled and their caches are warm. */
const WARM_UP = 1_000;
const ROUNDS = 600;
const BODY_LIMIT = 64 * 1024 * 1024;
/** Product rule: maximum ratio to an extender that does nothing. */
const MAX_RATIO = 1.5;
/** Bodies of different pods, so that the ledger works as in a burst. */
const PODS = 20;

/** A request and its number of nodes. Responses may omit nodes of the lowest score. */
interface Asked {
  readonly body: Buffer;
  readonly nodes: number;
}

export async function run(): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const nodeCount of NODE_COUNTS) {
    results.push(...(await compare(nodeCount, `${nodeCount} nodes`, () => allNames(nodeCount))));
    const shuffled = (pod: number): string[] => shuffledNames(nodeCount, pod + 1);
    results.push(...(await compare(nodeCount, `${nodeCount} nodes, other subset each time`, shuffled)));
  }
  return results;
}

async function compare(
  nodeCount: number,
  title: string,
  namesOf: (pod: number) => string[],
): Promise<BenchResult[]> {
  const trivial = await startTrivial();
  const plugin = await startPlugin(nodeCount);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const requests = Array.from({ length: PODS }, (_, pod): Asked => {
    const names = namesOf(pod);
    return { body: Buffer.from(requestBody(names, pod)), nodes: names.length };
  });
  const times = { ours: [] as number[], peer: [] as number[] };
  const sides = [
    { url: plugin.url, times: times.ours },
    { url: trivial.url, times: times.peer },
  ];
  try {
    for (let round = 0; round < WARM_UP + ROUNDS; round++) {
      const asked = requests[round % PODS]!;
      // The second side finds warm caches and the first side's garbage, so alternate.
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        const elapsedMs = await timed(agent, side.url, asked);
        if (round >= WARM_UP) side.times.push(elapsedMs);
      }
    }
  } finally {
    agent.destroy();
    await plugin.close();
    await trivial.close();
  }
  return [0.5, 0.99].map((quantile) =>
    result(title, quantile, at(times.ours, quantile), at(times.peer, quantile)),
  );
}

function result(title: string, quantile: number, ours: number, peer: number): BenchResult {
  const ratio = ours / peer;
  const judged = quantile === 0.5 ? { target: `<= ${MAX_RATIO} x trivial`, met: ratio <= MAX_RATIO } : {};
  return {
    name: `prioritize ${title} p${quantile * 100}`,
    value: ours,
    unit: "ms",
    peer: `trivial extender, ${peer.toFixed(3)} ms`,
    ratio,
    ...judged,
  };
}

interface Running {
  readonly url: string;
  readonly close: () => Promise<void>;
}

async function startTrivial(): Promise<Running> {
  const app = fastify({ bodyLimit: BODY_LIMIT });
  app.post("/scheduler/prioritize", (request, reply) => {
    const { NodeNames } = request.body as { NodeNames: string[] };
    let text = "[";
    for (const name of NodeNames) text += `${text.length > 1 ? "," : ""}{"Host":"${name}","Score":5}`;
    return reply.header("content-type", "application/json; charset=utf-8").send(`${text}]`);
  });
  const address = await app.listen({ host: "127.0.0.1", port: 0 });
  return { url: `${address}/scheduler/prioritize`, close: () => app.close() };
}

async function startPlugin(nodeCount: number): Promise<Running> {
  const config = loadSettings([schedulerPluginSettings], {
    env: {},
    overrides: { scheduler: { port: 0, maxBodyBytes: BODY_LIMIT } },
  }).scheduler;
  const plugin = createSchedulerPlugin(config, {
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({ service: "bench", level: "error" }),
    registry: createRegistry(),
    graphs: graphsOf(nodeCount, systemClock.now()),
  });
  await plugin.start();
  return { url: `${plugin.address().url}/scheduler/prioritize`, close: () => plugin.stop() };
}

/** Time from the request to the last byte of the complete response, ms. */
function timed(agent: Agent, url: string, { body, nodes }: Asked): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const startMs = performance.now();
  const sent = request(
    url,
    { agent, method: "POST", headers: { "content-type": "application/json", "content-length": body.length } },
    (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const elapsedMs = performance.now() - startMs;
        const scores = JSON.parse(Buffer.concat(chunks).toString()) as unknown[];
        const whole = scores.length > 0 && scores.length <= nodes;
        if (response.statusCode === 200 && whole) resolve(elapsedMs);
        else
          reject(
            new Error(`${url} answered ${response.statusCode} with ${scores.length} scores of ${nodes}`),
          );
      });
    },
  );
  sent.on("error", reject);
  sent.end(body);
  return promise;
}

function at(times: number[], quantile: number): number {
  const sorted = Float64Array.from(times).sort();
  return sorted[Math.ceil(sorted.length * quantile) - 1]!;
}
