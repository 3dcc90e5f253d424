// Several proxies of a mesh report the same load, and the graph must show it once. Compares HTTP/1.1 bytes
// including headers, which Istio counts as body sizes (see docs/collecting.md). The pages follow upstream's
// sources.
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import { createMemoryBus } from "@isochrone/bus/memory";
import { collectorSettings, createCollector } from "@isochrone/collector";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom, systemClock, type Service } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { Channel, WorkflowGraphSnapshot } from "@isochrone/topology";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Aggregator } from "@isochrone/aggregator/testing";
import type { Target } from "@isochrone/collector/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CountedLoad, type Exchange } from "../harness/mesh/load.ts";
import { EnvoyPage, ZtunnelPage, type Page } from "../harness/mesh/proxies.ts";

const SCRAPE_MS = 500;
const RUN_MS = 8000;
const REQUESTS_PER_STEP = 10;
const STEP_MS = 50;

const NODE_OF: Readonly<Record<string, string>> = {
  "web-1": "n1",
  "web-2": "n2",
  "db-1": "n2",
  "db-2": "n1",
};

interface Mesh {
  readonly pages: Readonly<Record<string, { readonly page: Page; readonly bytes: number }>>;
  take(exchange: Exchange): void;
}

function sidecars(): Mesh {
  const pages = {
    "web-1": new EnvoyPage("source"),
    "web-2": new EnvoyPage("source"),
    "db-1": new EnvoyPage("destination"),
    "db-2": new EnvoyPage("destination"),
  };
  return {
    pages,
    take(exchange) {
      pages[exchange.clientPod as keyof typeof pages].take(exchange);
      pages[exchange.serverPod as keyof typeof pages].take(exchange, 480);
    },
  };
}

function ambient(): Mesh {
  const pages = { n1: new ZtunnelPage(), n2: new ZtunnelPage() };
  const at = (pod: string): ZtunnelPage => pages[NODE_OF[pod] as keyof typeof pages];
  return {
    pages,
    take(exchange) {
      at(exchange.clientPod).take("source", "web", "db", exchange);
      at(exchange.serverPod).take("destination", "web", "db", exchange);
    },
  };
}

function ambientWithWaypoint(): Mesh {
  const pages = { n1: new ZtunnelPage(), n2: new ZtunnelPage(), waypoint: new EnvoyPage("waypoint") };
  const at = (pod: string): ZtunnelPage => pages[NODE_OF[pod] as "n1" | "n2"];
  return {
    pages,
    take(exchange) {
      at(exchange.clientPod).take("source", "web", "waypoint", exchange);
      pages.waypoint.take(exchange);
      at(exchange.serverPod).take("destination", "waypoint", "db", exchange, 210);
    },
  };
}

interface Result {
  readonly channels: readonly Channel[];
  readonly requestsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly errorRatio: number;
  readonly reportedTimes: number;
}

class ScrapedGraph {
  readonly #kind: Target["kind"];
  readonly #pages: Readonly<Record<string, { readonly page: Page }>>;
  readonly #services: Service[] = [];
  #aggregator: Aggregator | null = null;

  constructor(kind: Target["kind"], pages: Readonly<Record<string, { readonly page: Page }>>) {
    this.#kind = kind;
    this.#pages = pages;
  }

  async start(): Promise<void> {
    const targets = await this.#serve();
    const bus = createMemoryBus({ clock: systemClock });
    const file = {
      aggregator: { windowMs: 30_000, paneMs: 2000, buildIntervalMs: 300, host: "127.0.0.1", port: 0 },
      collector: { node: "n1", intervalMs: SCRAPE_MS, timeoutMs: SCRAPE_MS - 50 },
    };
    const { aggregator: config, collector: collectorConfig } = loadSettings(
      [aggregatorSettings, collectorSettings],
      { env: {}, file },
    );
    const surroundings = { bus, clock: systemClock, random: seededRandom(1), logger: new MemoryLogger() };
    this.#aggregator = createAggregator(config, {
      ...surroundings,
      store: createMemoryStore({ clock: systemClock }),
      registry: createRegistry(),
    });
    const collector = createCollector(collectorConfig, {
      ...surroundings,
      targets: { targets: () => targets },
      registry: createRegistry(),
    });
    for (const service of [this.#aggregator, collector]) await service.start();
    this.#services.push(
      { start: async () => undefined, stop: () => bus.close() },
      this.#aggregator,
      collector,
    );
  }

  async channels(): Promise<readonly Channel[]> {
    const response = await this.#aggregator!.app.inject({ url: "/api/v1/graph/workflows/shop/shop" });
    return response.json<WorkflowGraphSnapshot>().channels;
  }

  async stop(): Promise<void> {
    for (const service of this.#services.reverse()) await service.stop();
  }

  async #serve(): Promise<Target[]> {
    const server = createServer((request, response) => {
      const { contentType, text } = this.#pages[(request.url ?? "").slice(1)]!.page;
      response.setHeader("content-type", contentType);
      response.end(text);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    this.#services.push({
      start: async () => undefined,
      stop: async () => {
        server.closeAllConnections();
        await new Promise<void>((resolve) => server.close(() => resolve()));
      },
    });
    return Object.keys(this.#pages).map((name) => ({
      kind: this.#kind,
      url: `http://127.0.0.1:${port}/${name}`,
      instance: name,
    }));
  }
}

class MeshRun {
  readonly #mesh: Mesh;
  readonly #load: CountedLoad;
  readonly #graph: ScrapedGraph;

  constructor(mesh: Mesh) {
    this.#mesh = mesh;
    this.#load = new CountedLoad((exchange) => mesh.take(exchange));
    this.#graph = new ScrapedGraph("istio", mesh.pages);
  }

  async run(): Promise<Result> {
    await this.#graph.start();
    const beganMs = Date.now();
    for (let dueMs = beganMs; dueMs < beganMs + RUN_MS;) {
      this.#load.make(REQUESTS_PER_STEP);
      dueMs += STEP_MS;
      await systemClock.sleep(Math.max(0, dueMs - Date.now()));
    }
    const { requests, failed, bytes } = this.#load;
    const seconds = (Date.now() - beganMs) / 1000;
    const reported = Object.values(this.#mesh.pages).reduce((sum, page) => sum + page.bytes, 0);
    return {
      channels: await this.#graph.channels(),
      requestsPerSecond: requests / seconds,
      bytesPerSecond: bytes / seconds,
      errorRatio: failed / requests,
      reportedTimes: reported / bytes,
    };
  }

  stop(): Promise<void> {
    return this.#graph.stop();
  }
}

/** A page of a real Collector whose counters grow by `value` per second. */
class ReplayedPage {
  readonly #lines: readonly string[];
  readonly #beganMs = Date.now();

  constructor(file: string) {
    this.#lines = readFileSync(join(import.meta.dirname, "../data/pages", file), "utf8").split("\n");
  }

  get page(): Page {
    const seconds = 1 + (Date.now() - this.#beganMs) / 1000;
    const lines = this.#lines.map((line) =>
      line.startsWith("#")
        ? line
        : line.replace(/ (\d+)$/, (_, value: string) => ` ${Number(value) * seconds}`),
    );
    return { contentType: "text/plain; version=0.0.4; charset=utf-8", text: lines.join("\n") };
  }
}

describe("a service graph of the OpenTelemetry Collector", () => {
  const page = new ReplayedPage("otel-servicegraph-0.152.0.prom");
  const graph = new ScrapedGraph("service_graph", { collector: page });

  beforeAll(() => graph.start(), 30_000);
  afterAll(() => graph.stop());

  test("has channels between workloads by their owners, with requests and failures, and bytes that are not known", async () => {
    await systemClock.sleep(5000);
    const channels = await graph.channels();
    // Excludes failed and inconsistent rows, and ends that belong to no workload.
    const expected = [
      { source: "frontend", target: "cart", requestsPerSecond: 36 + 4, errorRatio: 4 / 40 },
      { source: "frontend", target: "catalogue", requestsPerSecond: 25, errorRatio: 0 },
      { source: "orders", target: "shipping", requestsPerSecond: 9, errorRatio: 0 },
    ];
    expect(channels).toMatchObject(
      expected.map(({ source, target }) => ({ source, target, bytesPerSecond: null })),
    );
    for (const [index, { requestsPerSecond, errorRatio }] of expected.entries()) {
      expectNear(channels[index]!.requestsPerSecond, requestsPerSecond, 0.08);
      expect(channels[index]!.errorRatio).toBeCloseTo(errorRatio, 3);
    }
  });
});

describe("the same load in the graph", () => {
  const runs: MeshRun[] = [];
  const results = new Map<string, Result>();

  beforeAll(async () => {
    const meshes = { sidecars: sidecars(), ambient: ambient(), waypoint: ambientWithWaypoint() };
    await Promise.all(
      Object.entries(meshes).map(async ([name, mesh]) => {
        const run = new MeshRun(mesh);
        runs.push(run);
        results.set(name, await run.run());
      }),
    );
  }, RUN_MS + 30_000);

  afterAll(async () => {
    for (const run of runs) await run.stop();
  });

  test.each([
    ["sidecars", 2],
    ["ambient", 2],
    ["waypoint", 3],
  ])("through %s is one channel with the load's bytes, though %i proxies count each", (name, times) => {
    const { channels, bytesPerSecond, reportedTimes } = results.get(name)!;
    expect(Math.round(reportedTimes)).toBe(times);
    expect(channels.map(({ source, target }) => `${source} ${target}`)).toEqual(["web db"]);
    expectNear(channels[0]!.bytesPerSecond, bytesPerSecond, 0.05);
  });

  test.each(["sidecars", "waypoint"])("through %s has the load's requests and failures", (name) => {
    const { channels, requestsPerSecond, errorRatio } = results.get(name)!;
    expectNear(channels[0]!.requestsPerSecond, requestsPerSecond, 0.05);
    expect(Math.abs(channels[0]!.errorRatio! - errorRatio)).toBeLessThan(0.03);
  });

  test("through ztunnel alone has no requests: it sees connections, and not knowing is not 0", () => {
    const [channel] = results.get("ambient")!.channels;
    expect(channel).toMatchObject({ requestsPerSecond: null, errorRatio: null });
  });

  test("is the same through all three", () => {
    const found = [...results.values()].map(
      ({ channels, bytesPerSecond }) => channels[0]!.bytesPerSecond! / bytesPerSecond,
    );
    expect(Math.max(...found) / Math.min(...found)).toBeLessThan(1.05);
  });
});

function expectNear(found: number | null, expected: number, ratio: number): void {
  expect(found).not.toBeNull();
  expect(Math.abs(found! / expected - 1)).toBeLessThan(ratio);
}
