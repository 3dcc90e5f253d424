import { createMemoryBus } from "@isochrone/bus/memory";
import type { BusRecord } from "@isochrone/bus";
import { createRegistry, seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { MetricsDecoder, TOPICS } from "@isochrone/telemetry";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { createCollector } from "./collector.ts";
import type { Target, TargetKind } from "./ports.ts";

const GOOD = `# TYPE istio_requests_total counter
istio_requests_total{reporter="source",source_workload="m0",destination_workload="m1"} 7
`;

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A real server on loopback. */
async function serve(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
}

const page =
  (text: string, contentType = "text/plain; version=0.0.4"): RequestListener =>
  (_, response) => {
    response.setHeader("content-type", contentType);
    response.end(text);
  };

interface Running {
  readonly records: BusRecord[];
  readonly logger: MemoryLogger;
  metric(name: string, labels: Record<string, string>): Promise<number>;
  until(check: () => Promise<boolean> | boolean): Promise<void>;
}

async function run(urls: readonly string[], kind: TargetKind = "istio"): Promise<Running> {
  const bus = createMemoryBus({ clock: systemClock });
  const records: BusRecord[] = [];
  await bus.subscribe({
    topics: [TOPICS.traffic, TOPICS.usage],
    group: "test",
    from: "earliest",
    onBatch: async (batch) => {
      records.push(...batch.records);
      await batch.commit();
    },
  });
  const registry = createRegistry();
  const logger = new MemoryLogger();
  const targets: Target[] = urls.map((url, index) => ({ kind, url, instance: `target-${index}` }));
  const config = {
    node: "n1",
    intervalMs: 200,
    timeoutMs: 150,
    maxPageBytes: 1024 * 1024,
    maxSamplesPerPage: 1000,
    concurrency: 8,
    staticTargets: [],
    aggregatorUrl: "http://127.0.0.1:1",
    bufferBytes: 1024 * 1024,
    host: "127.0.0.1",
    port: 0,
  };
  const collector = createCollector(config, {
    bus,
    targets: { targets: () => targets },
    clock: systemClock,
    random: seededRandom(1),
    logger,
    registry,
  });
  await collector.start();
  closers.push(async () => {
    await collector.stop();
    await bus.close();
  });
  const metric = async (name: string, labels: Record<string, string>): Promise<number> => {
    const { values } = await registry.getSingleMetric(name)!.get();
    return (
      values.find((value) =>
        Object.entries(labels).every(([key, expected]) => value.labels[key] === expected),
      )?.value ?? 0
    );
  };
  const until = async (check: () => Promise<boolean> | boolean): Promise<void> => {
    for (const deadline = Date.now() + 8_000; !(await check());) {
      if (Date.now() > deadline) throw new Error(`not within 8 s; log: ${JSON.stringify(logger)}`);
      await systemClock.sleep(20);
    }
  };
  return { records, logger, metric, until };
}

const failures = "isochrone_collector_scrape_failures_total";

describe("createCollector", () => {
  it("publishes what a page says as OTLP, keyed by node, with headers", async () => {
    const running = await run([await serve(page(GOOD))]);
    await running.until(() => running.records.length > 0);
    const [record] = running.records;
    expect(record).toMatchObject({ topic: TOPICS.traffic, key: "n1" });
    expect(record!.headers).toMatchObject({ "isochrone-source": "collector/n1" });
    const seen: unknown[] = [];
    new MetricsDecoder().decode(record!.value, {
      number: ({ name, attributes, resource, temporality, monotonic }, _, __, value) =>
        void seen.push({
          name,
          value,
          temporality,
          monotonic,
          workload: attributes["destination_workload"],
          node: resource["k8s.node.name"],
        }),
      histogram: () => undefined,
      exponentialHistogram: () => undefined,
      refused: (reason) => void seen.push(reason),
    });
    expect(seen).toEqual([
      {
        name: "istio_requests_total",
        value: 7,
        temporality: "cumulative",
        monotonic: true,
        workload: "m1",
        node: "n1",
      },
    ]);
  });

  it.each<[string, string, RequestListener]>([
    ["hangs", "timeout", () => undefined],
    [
      "sends headers and then nothing",
      "timeout",
      (_, response) => void response.writeHead(200, { "content-type": "text/plain" }).write("a"),
    ],
    ["answers 500", "http_status", (_, response) => void response.writeHead(500).end()],
    [
      "redirects",
      "connect",
      (_, response) => void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    ],
    ["is a web page", "content_type", page("<html></html>", "text/html")],
    ["lies in its content type", "not_metrics", page("<html>\n<body>\n</body>\n".repeat(100))],
    ["is binary", "not_metrics", page("\u0000\u0001\u0002\n".repeat(100))],
    [
      "sends 100 MB",
      "too_large",
      (_, response) => {
        response.writeHead(200, { "content-type": "text/plain" });
        let left = 100;
        const more = (): void => {
          while (left-- > 0 && response.write("x 1\n".repeat(262_144)));
          if (left > 0) response.once("drain", more);
          else response.end();
        };
        more();
      },
    ],
    [
      "hides 100 MB behind compression",
      "too_large",
      (_, response) => {
        response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" });
        response.end(BOMB);
      },
    ],
    [
      "has too many samples",
      "too_many_samples",
      page(Array.from({ length: 1500 }, (_, i) => `istio_requests_total{a="${i}"} 1`).join("\n")),
    ],
  ])(
    "bounds a page that %s, counts it, names it once, and goes on with the others",
    async (_, reason, listener) => {
      const bad = await serve(listener);
      const running = await run([bad, await serve(page(GOOD))]);
      await running.until(async () => (await running.metric(failures, { reason })) >= 2);
      const before = running.records.length;
      await running.until(() => running.records.length >= before + 2);
      const lines = JSON.stringify(running.logger).split("page not taken").length - 1;
      expect(lines).toBe(1);
    },
  );

  it("counts a target that isn't there", async () => {
    const running = await run(["http://127.0.0.1:1/metrics"]);
    await running.until(async () => (await running.metric(failures, { reason: "connect" })) > 0);
    expect(running.records).toEqual([]);
  });
});

const BOMB = gzipSync(Buffer.alloc(100 * 1024 * 1024, "x 1\n"));
