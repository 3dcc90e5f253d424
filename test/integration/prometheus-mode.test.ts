// Prometheus mode and scraping must agree with each other and with the page generator, despite resets, failed
// scrapes and pauses.
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import type { Aggregator } from "@isochrone/aggregator/testing";
import type { Bus, BusRecord } from "@isochrone/bus";
import { createMemoryBus } from "@isochrone/bus/memory";
import { collectorSettings, createCollector } from "@isochrone/collector";
import type { PrometheusCollectorConfig, Target } from "@isochrone/collector/testing";
import {
  createPrometheusCollector,
  prometheusFields,
  prometheusRules,
  trustFields,
} from "@isochrone/collector/testing";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import {
  createRegistry,
  duration,
  loadSettings,
  section,
  seededRandom,
  systemClock,
  type Service,
} from "@isochrone/runtime";
import { configWith, MemoryLogger } from "@isochrone/runtime/testing";
import { MetricsDecoder, TOPICS } from "@isochrone/telemetry";
import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MeshPages, NODE, RUN_MS } from "../harness/prometheus/pages.ts";
import {
  canRunPrometheus,
  sortedLabels,
  startPrometheus,
  type RunningPrometheus,
} from "../harness/prometheus/server.ts";

/**
 * Events within a scrape interval (1 s) are indistinguishable: a restart loses up to 1 s, and a channel
 * appears up to 1 s older. The shortest channel lasts 18 s.
 */
const TOLERANCE = 0.07;

const prometheusSection = section(
  "prometheus",
  {
    intervalMs: duration({ default: 3000, description: "as the collector's" }),
    ...prometheusFields,
    ...trustFields,
  },
  { rules: prometheusRules },
);

function configOf(settings: Readonly<Record<string, unknown>>): PrometheusCollectorConfig {
  const bounds = { prometheusTimeoutMs: 2000, catchUpRecordsPerSecond: 50 };
  return configWith(prometheusSection, { ...bounds, prometheusWindowMs: 8000, ...settings });
}

/** An aggregator with its own bus and one collector. */
class Side {
  readonly bus: Bus = createMemoryBus({ clock: systemClock });
  readonly registry = createRegistry();
  readonly records: BusRecord[] = [];
  readonly #aggregator: Aggregator;

  constructor(store: ReturnType<typeof createMemoryStore>) {
    const file = {
      // Pods are scraped every second.
      aggregator: {
        windowMs: 30_000,
        paneMs: 2000,
        counterLagMs: 2000,
        buildIntervalMs: 500,
        host: "127.0.0.1",
        port: 0,
      },
    };
    const { aggregator: config } = loadSettings([aggregatorSettings], { env: {}, file });
    this.#aggregator = createAggregator(config, {
      bus: this.bus,
      store,
      clock: systemClock,
      random: seededRandom(1),
      logger: new MemoryLogger(),
      registry: createRegistry(),
    });
  }

  async start(): Promise<void> {
    await this.#aggregator.start();
    await this.bus.subscribe({
      topics: [TOPICS.traffic, TOPICS.usage],
      from: "earliest",
      onBatch: async (batch) => {
        this.records.push(...batch.records);
      },
    });
  }

  async graph(): Promise<WorkflowGraphSnapshot> {
    const response = await this.#aggregator.app.inject({ url: "/api/v1/graph/workflows/shop/shop" });
    return response.json<WorkflowGraphSnapshot>();
  }

  async node(): Promise<ClusterGraphSnapshot["nodes"][number]> {
    const response = await this.#aggregator.app.inject({ url: "/api/v1/graph/cluster" });
    return response.json<ClusterGraphSnapshot>().nodes[0]!;
  }

  async stop(): Promise<void> {
    await this.#aggregator.stop();
    await this.bus.close();
  }
}

const surroundings = (side: { readonly bus: Bus; readonly registry: ReturnType<typeof createRegistry> }) => ({
  bus: side.bus,
  clock: systemClock,
  random: seededRandom(2),
  logger: new MemoryLogger(),
  registry: side.registry,
});

describe.runIf(canRunPrometheus)("the collector in Prometheus mode (needs the program prometheus)", () => {
  const pages = new MeshPages();
  const services: Service[] = [];
  let prometheus: RunningPrometheus;
  let scraping: Side;
  let asking: Side;
  let graphs: { readonly scraped: WorkflowGraphSnapshot; readonly asked: WorkflowGraphSnapshot };

  beforeAll(async () => {
    await pages.start();
    prometheus = await startPrometheus(pages.scrapeConfigs());
    const store = createMemoryStore({ clock: systemClock });
    for (const pod of pages.pods())
      await store.create({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { namespace: "shop", name: pod },
        spec: { nodeName: "n1", containers: [] },
        status: { phase: "Running" },
      });
    await store.create({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "n1" },
      status: {
        allocatable: { cpu: "8", memory: "16000000000" },
        conditions: [{ type: "Ready", status: "True" }],
      },
    });
    scraping = new Side(store);
    asking = new Side(store);
    const { collector: scrapeConfig } = loadSettings([collectorSettings], {
      env: {},
      file: { collector: { node: "n1", intervalMs: 1000, timeoutMs: 900 } },
    });
    const targets: Target[] = pages.targets();
    services.push(
      scraping,
      asking,
      createCollector(scrapeConfig, { ...surroundings(scraping), targets: { targets: () => targets } }),
      createPrometheusCollector(configOf({ prometheusUrl: prometheus.url }), surroundings(asking)),
    );
    for (const service of services) await service.start();
    await pages.run(prometheus);
    graphs = { scraped: await scraping.graph(), asked: await asking.graph() };
  }, RUN_MS + 60_000);

  afterAll(async () => {
    for (const service of services.reverse()) await service.stop();
    await prometheus?.stop();
    await pages.stop();
  });

  test("has every channel that the scraping collector has, with its rates, and those of the generator", () => {
    const ratesOf = ({ channels }: WorkflowGraphSnapshot) =>
      new Map(channels.map((channel) => [`${channel.source} ${channel.target}`, channel]));
    const [scraped, asked] = [ratesOf(graphs.scraped), ratesOf(graphs.asked)];
    expect([...asked.keys()].sort()).toEqual(pages.channels().map(({ name }) => name));
    expect([...scraped.keys()].sort()).toEqual([...asked.keys()].sort());
    for (const { name, requestsPerSecond, bytesPerSecond } of pages.channels()) {
      const found = asked.get(name)!;
      expectNear(found.requestsPerSecond, requestsPerSecond, TOLERANCE);
      expectNear(found.bytesPerSecond, bytesPerSecond, TOLERANCE);
      expectNear(found.requestsPerSecond, scraped.get(name)!.requestsPerSecond, TOLERANCE);
      expectNear(found.bytesPerSecond, scraped.get(name)!.bytesPerSecond, TOLERANCE);
      expectNear(found.errorRatio, scraped.get(name)!.errorRatio, TOLERANCE);
    }
  });

  test("has the usage that the scraping collector has, and that of the generator", () => {
    for (const { pod, cpuMillicores, memoryBytes } of pages.usage()) {
      const [asked, scraped] = [graphs.asked, graphs.scraped].map(({ workloads }) =>
        workloads.find(({ name }) => name === pod)!,
      ) as [WorkflowGraphSnapshot["workloads"][number], WorkflowGraphSnapshot["workloads"][number]];
      expectNear(asked.cpuMillicores, cpuMillicores, TOLERANCE);
      expectNear(asked.cpuMillicores, scraped.cpuMillicores, TOLERANCE);
      expect(asked.memoryBytes).toBe(memoryBytes);
      expect(scraped.memoryBytes).toBe(memoryBytes);
    }
  });

  test("has the node's use, its network interface included", async () => {
    for (const node of [await asking.node(), await scraping.node()]) {
      expectNear(node.availableCpuMillicores, 8000 - NODE.cores * 1000, 0.01);
      expect(node.availableMemoryBytes).toBe(16_000_000_000 - NODE.memoryBytes);
      expectNear(node.networkReceiveBitsPerSecond ?? null, NODE.receivedBytesPerSecond * 8, 0.01);
    }
  });

  test("published every counter's sample that Prometheus has, each exactly once", async () => {
    const published = new Map<string, number[]>();
    for (const record of asking.records)
      new MetricsDecoder().decode(record.value, {
        number: ({ name, attributes, temporality }, _, timeMs) => {
          if (temporality === null) return;
          const key = `${name} ${JSON.stringify(sortedLabels(attributes))}`;
          published.set(key, [...(published.get(key) ?? []), timeMs]);
        },
        histogram: () => expect.fail("no histogram is asked for"),
        exponentialHistogram: () => expect.fail("no histogram is asked for"),
        refused: (reason) => expect.fail(reason),
      });
    const newestMs = Math.max(...[...published.values()].flat());
    const stored = await prometheus.samples(
      '{__name__=~"istio_.*(_total|_sum)|container_cpu_usage_seconds_total|container_network_.*"}',
      newestMs,
    );
    expect(stored.size).toBeGreaterThan(10);
    for (const [key, timesMs] of published) {
      expect(new Set(timesMs).size).toBe(timesMs.length);
      // The first query covers 8 s; earlier samples of Prometheus are not requested.
      const known = stored.get(key)!.filter((timeMs) => timeMs >= Math.min(...timesMs));
      expect(known.filter((timeMs) => !timesMs.includes(timeMs))).toEqual([]);
      expect(timesMs).toHaveLength(known.length);
    }
    expect([...published.keys()].sort()).toEqual([...stored.keys()].sort());
  });

  test("counted the queries that Prometheus didn't answer while it stood still, and nothing else", async () => {
    const { values } = await asking.registry
      .getSingleMetric("isochrone_collector_prometheus_failures_total")!
      .get();
    expect(new Set(values.map(({ labels }) => labels["reason"]))).toEqual(new Set(["timeout"]));
  });

  test.each([
    ["a query that it can't parse", { prometheusMatchers: ['pod=~"("'] }, "bad_query"],
    ["more samples than it allows", {}, "too_many_samples"],
  ])("%s is told by the real server's answer", async (_, settings, reason) => {
    const strict = await startPrometheus(pages.scrapeConfigs(), ["--query.max-samples=3"]);
    const registry = createRegistry();
    const bus = createMemoryBus({ clock: systemClock });
    const collector = createPrometheusCollector(
      configOf({ ...settings, prometheusUrl: strict.url, intervalMs: 300, prometheusTimeoutMs: 250 }),
      surroundings({ bus, registry }),
    );
    await collector.start();
    try {
      const reasons = async (): Promise<unknown[]> => {
        const metric = registry.getSingleMetric("isochrone_collector_prometheus_failures_total")!;
        return (await metric.get()).values.map(({ labels }) => labels["reason"]);
      };
      for (const untilMs = Date.now() + 15_000; !(await reasons()).includes(reason) && Date.now() < untilMs;)
        await systemClock.sleep(100);
      expect(await reasons()).toContain(reason);
    } finally {
      await collector.stop();
      await bus.close();
      await strict.stop();
    }
  });
});

function expectNear(found: number | null, expected: number | null, ratio: number): void {
  // Null becomes NaN, because it is not 0 and equals only another null.
  const [a, b] = [found ?? Number.NaN, expected ?? Number.NaN];
  expect(Object.is(a, b) || Math.abs(a - b) <= ratio * b ? "near" : `${a} instead of ${b}`).toBe("near");
}
