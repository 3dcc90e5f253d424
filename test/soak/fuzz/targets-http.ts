// Whole services on loopback must always respond in HTTP and stay alive.
import { connect } from "node:net";
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import { createMemoryBus } from "@isochrone/bus/memory";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { createSchedulerPlugin, schedulerPluginSettings } from "@isochrone/scheduler-plugin";
import { ClusterGraph } from "@isochrone/topology";
import { mutateBytes, mutateJson, mutateText } from "./mutate.ts";
import { Violation, type Outcome, type Target } from "./oracle.ts";

const AT = "2026-01-01T00:00:00.000Z";
/** A server without a response within this time waits for more input. Milliseconds. */
const ANSWER_MS = 1_000;

/** Sends bytes and returns the first received ones. Empty: a timeout. */
function exchange(port: number, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    const end = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(end, ANSWER_MS);
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
      end();
    });
    socket.on("error", end);
    socket.on("close", end);
    // Closes the sending side, so that a server that waits for more notices.
    socket.end(bytes);
  });
}

function httpOutcome(answer: string): Outcome {
  if (answer === "") return { isTaken: false };
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
  if (Number.isNaN(status))
    throw new Violation(`the answer is not HTTP: ${JSON.stringify(answer.slice(0, 80))}`);
  if (status === 500) throw new Violation(`the answer is 500: ${answer.slice(0, 400)}`);
  return { isTaken: status < 300 };
}

const GETS = [
  "/api/v1/graph/cluster",
  "/api/v1/graph/cluster?window=fast&at=2026-01-01T00:00:00Z",
  "/api/v1/graph/workflows?include=graphs&since=1",
  "/api/v1/graph/workflows/shop/web",
  "/api/v1/graph/history/link?source=n1&target=n2",
  "/api/v1/graph/demand",
  "/api/v1/graph/events",
  "/api/v1/probe-plan/n1",
  "/api/v1/health",
  "/metrics",
];

const REQUESTS = GETS.map(
  (path) =>
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\nLast-Event-ID: 5\r\nIf-None-Match: "1"\r\n\r\n`,
);

/** The graph API, including its event stream, by request bytes. */
export async function apiRequests(): Promise<Target> {
  const clock = new ManualClock(Date.parse(AT));
  const bus = createMemoryBus({ clock });
  // The requests name no port, because it differs each time.
  const server = { host: "127.0.0.1", port: 0, allowedHosts: ["127.0.0.1"] };
  const usual = { ...server, windowMs: 30_000, paneMs: 2_000, buildIntervalMs: 1_000 };
  const { aggregator: config } = loadSettings([aggregatorSettings], { env: {}, file: { aggregator: usual } });
  const aggregator = createAggregator(config, {
    bus,
    store: createMemoryStore({ clock }),
    clock,
    random: seededRandom(1),
    logger: new MemoryLogger(),
    registry: createRegistry(),
  });
  await aggregator.start();
  await clock.advance(0);
  const { port } = aggregator.address();
  return {
    name: "api-requests",
    seeds: [0, 8, 9].map((index) => Buffer.from(REQUESTS[index]!)),
    iterations: 600,
    mutate(draws) {
      const request = draws.pick(REQUESTS);
      return Buffer.from(
        draws.chance(0.8)
          ? mutateText(draws, request, REQUESTS)
          : mutateBytes(
              draws,
              Buffer.from(request),
              REQUESTS.map((each) => Buffer.from(each)),
            ),
      );
    },
    run: async (input) => httpOutcome(await exchange(port, input)),
    async close() {
      await aggregator.stop();
      await bus.close();
    },
  };
}

const POD = {
  metadata: { name: "web-1", namespace: "shop", uid: "u", labels: { "isochrone.dev/workflow": "web" } },
  spec: { containers: [{ name: "c", resources: { requests: { cpu: "100m", memory: "64Mi" } } }] },
};
const ARGS: readonly unknown[] = [
  { Pod: POD, NodeNames: ["n1", "n2"] },
  { Pod: POD, Nodes: { items: [{ metadata: { name: "n1" } }] } },
];

function graph(): ClusterGraph {
  const node = {
    zone: null,
    region: null,
    segment: null,
    ready: true,
    cordoned: false,
    allocatableCpuMillicores: 4_000,
    allocatableMemoryBytes: 8e9,
    availableCpuMillicores: 2_000,
    availableMemoryBytes: 4e9,
    coordinate: null,
    usageAgeSeconds: 1,
  };
  const nodes = ["n1", "n2"].map((name) => ({ ...node, name }));
  return new ClusterGraph({ version: 1, observedAt: AT, windowSeconds: 30, nodes, links: [] });
}

/** The extender by request bodies. Scores must be whole numbers from 0 to 100 for every requested node. */
export async function extenderRequests(): Promise<Target> {
  const cluster = graph();
  const { scheduler } = loadSettings([schedulerPluginSettings], {
    env: {},
    overrides: { scheduler: { port: 0 } },
  });
  const plugin = createSchedulerPlugin(scheduler, {
    clock: new ManualClock(Date.parse(AT)),
    random: seededRandom(1),
    logger: new MemoryLogger(),
    registry: createRegistry(),
    graphs: {
      start: () => Promise.resolve(),
      stop: () => Promise.resolve(),
      cluster: () => cluster,
      workflow: () => null,
      ready: () => true,
    },
  });
  await plugin.start();
  return {
    name: "extender-requests",
    seeds: ARGS.map((args) => Buffer.from(JSON.stringify(args))),
    iterations: 1_500,
    mutate: (draws) => Buffer.from(mutateJson(draws, ARGS)),
    async run(input) {
      let output: unknown = null;
      for (const verb of ["filter", "prioritize"]) {
        const ask = () =>
          plugin.app.inject({
            method: "POST",
            url: `/scheduler/${verb}`,
            headers: { "content-type": "application/json" },
            payload: Buffer.from(input),
          });
        let answer = await ask();
        // A busy machine is overloaded for a while, which says nothing about the input.
        for (let attempt = 1; answer.statusCode === 503 && attempt < OVERLOAD_ATTEMPTS; attempt++)
          answer = await ask();
        if (answer.statusCode >= 500 && answer.statusCode !== 503)
          throw new Violation(`${verb} answered ${answer.statusCode}: ${answer.body.slice(0, 300)}`);
        if (answer.statusCode !== 200) return { isTaken: false };
        output = answer.json();
        if (verb === "prioritize") checkScores(output);
      }
      return { isTaken: true, output };
    },
    close: () => plugin.stop(),
  };
}

const OVERLOAD_ATTEMPTS = 50;

function checkScores(answer: unknown): void {
  if (!Array.isArray(answer))
    throw new Violation(`prioritize answered no list: ${JSON.stringify(answer).slice(0, 100)}`);
  for (const { Score: score } of answer as { Score: unknown }[])
    if (!Number.isInteger(score) || (score as number) < 0 || (score as number) > 100)
      throw new Violation(`a score must be a whole number from 0 to 100, got ${String(score)}`);
}
