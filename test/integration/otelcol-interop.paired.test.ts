// A real Collector at both ends, with the configurations from docs/otel-collector.md.
import type { Bus, BusRecord, Publisher } from "@isochrone/bus";
import { collectorSettings, createCollector } from "@isochrone/collector";
import { createKafkaBus } from "@isochrone/bus/kafka";
import { staticTargets } from "@isochrone/collector/testing";
import { createRegistry, loadSettings, seededRandom, systemClock } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { decodeHeaders, encodeMetrics, TOPICS, type MetricsBatch } from "@isochrone/telemetry";
import { beforeAll, afterAll, describe, expect, onTestFinished, test } from "vitest";
import { kafkaSupport, startKafka, type KafkaCluster } from "../harness/kafka/index.ts";
import { collectorSupport, startCollector } from "../harness/otelcol/index.ts";
import { probeBatch, scrapedBatch } from "../harness/otelcol/batches.ts";
import { graphsOf, type Arrival, type DrawnGraphs } from "../harness/otelcol/graphs.ts";
import {
  cadvisorPage,
  FIRST_CORE_SECONDS,
  LEVEL_STEP,
  WEB_CORES,
  istioPage,
  NODE_NAME,
  servePages,
  type PageName,
  type ServedPage,
} from "../harness/otelcol/pages.ts";
import { scrapeNativeHistogram } from "../harness/otelcol/native-histograms.ts";
import { otherReading } from "../harness/otelcol/other-reading.ts";
import { startOtlpSink } from "../harness/otelcol/otlp-sink.ts";
import { BROKER_TOPICS, FOREIGN_TOPICS, recipe, toOwnTopic } from "../harness/otelcol/recipes.ts";
import { HTTP, sendSpans } from "../harness/otelcol/spans.ts";
import { countedSeconds, scrapeOf, stepsOf, timesOf } from "../harness/otelcol/scrapes.ts";

const supports = [kafkaSupport(), collectorSupport()];
const STARTUP_MS = 120_000;

let kafka: KafkaCluster;

function openBus(): Bus {
  const bus = createKafkaBus({
    client: "platformatic",
    brokers: kafka.brokers,
    clientId: "interop",
    clock: systemClock,
    random: seededRandom(1),
  });
  onTestFinished(() => bus.close());
  return bus;
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 40_000; !(await holds()); await systemClock.sleep(50))
    if (Date.now() > deadline) throw new Error(`${what}: not within 40 s`);
}

function sample(page: string, name: string, labels: Readonly<Record<string, string>> = {}): number | null {
  const line = page
    .split("\n")
    .find(
      (candidate) =>
        candidate.startsWith(`${name}{`) &&
        Object.entries(labels).every(([key, value]) => candidate.includes(`${key}="${value}"`)),
    );
  return line === undefined ? null : Number(/\} (\S+)/.exec(line)?.[1]);
}

const SCRAPE_INTERVAL_MS = 500;
const SCRAPES = 10;
/** First working set of web's container on the page. */
const WEB_BYTES = 241_664;
const AWAY = 4;
const CONTAINER_REPLACED = 6;
const PROXY_RESTARTED = 7;

function pageOf(page: PageName, scrape: number): ServedPage {
  const step = Math.min(scrape, SCRAPES - 1);
  if (step === AWAY) return null;
  return page === "cadvisor"
    ? cadvisorPage(step, Date.now(), {
        stepSeconds: SCRAPE_INTERVAL_MS / 1000,
        replacedAt: CONTAINER_REPLACED,
      })
    : istioPage(step, { restarts: PROXY_RESTARTED });
}

type Served = Readonly<Record<PageName, readonly ServedPage[]>>;

/** Lets the Collector scrape every step and waits for its records. */
async function scrapeWith(
  name: string,
  environment: Readonly<Record<string, string>>,
  hasArrived: () => boolean,
): Promise<Served> {
  const pages = await servePages(pageOf);
  onTestFinished(() => pages.close());
  const collector = await startCollector({
    config: recipe(name),
    environment: {
      ...environment,
      PAGES: pages.address,
      NODE_NAME,
      SCRAPE_INTERVAL: `${SCRAPE_INTERVAL_MS}ms`,
    },
  });
  onTestFinished(() => collector.close());
  await until("all steps are scraped", () =>
    Object.values(pages.served).every(({ length }) => length > SCRAPES),
  );
  await until("what was scraped has arrived", hasArrived);
  await collector.close();
  return pages.served;
}

/** Seconds between the first and last sample of the cAdvisor page, by its own timestamps. */
function cadvisorSeconds({ cadvisor }: Served): number {
  const times = [cadvisor[0]!, cadvisor[SCRAPES - 1]!].map((page) =>
    Number(/^container_cpu.*pod="db-0"\} \S+ (\d{13})$/m.exec(page)![1]),
  );
  return (times[1]! - times[0]!) / 1000;
}

/**
 * A series new on a page differs: the Collector's receiver gives no start time, so its first value is a
 * baseline.
 */
function expectSameGraphs(theirs: DrawnGraphs, ours: DrawnGraphs, served: Served): void {
  const cpu = ({ graphs }: DrawnGraphs): number =>
    graphs.workloads.find(({ name }) => name === "db")!.cpuMillicores!;
  const missed = (1000 * FIRST_CORE_SECONDS) / cadvisorSeconds(served);
  expect(cpu(ours) - cpu(theirs)).toBeCloseTo(missed, 3);
  const others = ({ graphs }: DrawnGraphs): object => ({
    ...graphs,
    workloads: graphs.workloads.map(({ name, cpuMillicores, ...rest }) => ({
      ...rest,
      name,
      cpuMillicores: name === "db" ? null : cpuMillicores,
    })),
  });
  expect(others(theirs)).toEqual(others(ours));
  expect(ours.unused).toEqual([]);
  // The receiver's own metrics, and its staleness markers for a missing page.
  expect(theirs.unused).toEqual(["no_data", "unknown_metric"]);

  // The served rows: 12 and 2 requests per step, each restarted with one request.
  const channel = ours.graphs.channels.find(({ source }) => source === "web")!;
  const increments = 14 * (PROXY_RESTARTED - 1) + 2 + 14 * (SCRAPES - 1 - PROXY_RESTARTED);
  const seconds = ((SCRAPES - 1) * SCRAPE_INTERVAL_MS) / 1000;
  expect(channel.requestsPerSecond! / (increments / seconds)).toBeCloseTo(1, 2);
  const web = ours.graphs.workloads.find(({ name }) => name === "web")!;
  expect(web.cpuMillicores! / (1000 * WEB_CORES)).toBeCloseTo(1, 1);
  expect(web.memoryBytes).toBe(WEB_BYTES + LEVEL_STEP * (SCRAPES - 1));
}

/** Our collector reads the same pages with the clock at the same times. */
async function scrapeAgain(
  publisher: Publisher,
  served: Readonly<Record<PageName, readonly ServedPage[]>>,
  times: readonly number[],
): Promise<void> {
  let step = 0;
  const pages = await servePages((page) => served[page][step] ?? null);
  onTestFinished(() => pages.close());
  const clock = new ManualClock(times[0]);
  const { collector: config } = loadSettings([collectorSettings], {
    env: {},
    file: {
      collector: { node: NODE_NAME, intervalMs: SCRAPE_INTERVAL_MS, timeoutMs: SCRAPE_INTERVAL_MS - 50 },
    },
  });
  let published = 0;
  const collector = createCollector(config, {
    bus: {
      publish: async (topic, records, options) => {
        await publisher.publish(topic, records, options);
        published += records.length;
      },
    },
    targets: staticTargets([
      `cadvisor=http://${pages.address}/cadvisor`,
      `istio=http://${pages.address}/istio`,
    ]),
    clock,
    random: { next: () => 0 },
    logger: new MemoryLogger(),
    registry: createRegistry(),
  });
  await collector.start();
  let expected = 0;
  for (; step < times.length; step++) {
    if (step > 0) {
      // The Collector's interval varies but ours is exact, so set our wall time to the Collector's.
      clock.stepWall(times[step]! - clock.now() - config.intervalMs);
      await clock.advance(config.intervalMs);
    } else await clock.advance(0);
    expected += Object.values(served).filter((list) => list[step] !== null).length;
    await until(`step ${step} is scraped and published`, async () => {
      await clock.advance(0);
      return Object.values(pages.served).every(({ length }) => length > step) && published >= expected;
    });
  }
  await collector.stop();
}

describe.runIf(supports.every(({ supported }) => supported))("with an OpenTelemetry Collector", () => {
  beforeAll(async () => {
    kafka = await startKafka({ brokers: 1, properties: { "log.message.timestamp.type": "LogAppendTime" } });
    for (const topic of BROKER_TOPICS) await kafka.createTopic(topic, { partitions: 3 });
  }, STARTUP_MS);
  afterAll(() => kafka.close());

  test("what probes and collectors publish arrives at its Kafka receiver as it was sent, and adds up for Prometheus", async () => {
    const bus = openBus();
    const sink = await startOtlpSink();
    onTestFinished(() => sink.close());
    const nowMs = Date.now();
    const rtts = [
      0,
      0.001,
      0.00105,
      0.0011,
      0.002,
      ...Array.from({ length: 300 }, (_, i) => 0.001 + i * 1e-6),
    ];
    const sent: [string, MetricsBatch][] = [
      [TOPICS.probe, probeBatch(nowMs - 20_000, nowMs - 10_000, rtts, 3)],
      [TOPICS.probe, probeBatch(nowMs - 10_000, nowMs, [0.0012, 0.03], 1)],
      [
        TOPICS.usage,
        scrapedBatch("isochrone-cadvisor", {
          name: "container_memory_working_set_bytes",
          unit: "By",
          kind: "gauge",
          points: [{ attributes: { namespace: "shop", pod: "web-0" }, timeMs: nowMs, value: 52_428_800 }],
        }),
      ],
      [
        TOPICS.usage,
        scrapedBatch("isochrone-cadvisor", {
          name: "container_cpu_usage_seconds_total",
          unit: "s",
          kind: "sum",
          temporality: "cumulative",
          monotonic: true,
          points: [{ attributes: { namespace: "shop", pod: "web-0" }, timeMs: nowMs, value: 1234.5 }],
        }),
      ],
      [
        TOPICS.traffic,
        scrapedBatch("isochrone-istio", {
          name: "istio_request_bytes",
          unit: "By",
          kind: "histogram",
          temporality: "cumulative",
          points: [
            {
              attributes: { reporter: "source", source_workload: "web", destination_workload: "büro" },
              startMs: nowMs - 60_000,
              timeMs: nowMs,
              count: 6,
              sum: 2048.5,
              explicitBounds: [100, 1000],
              bucketCounts: [1, 2, 3],
            },
          ],
        }),
      ],
    ];
    const collector = await startCollector({
      config: recipe("topics-to-prometheus.yaml"),
      environment: { KAFKA_BROKERS: kafka.brokers[0]!, OTLP_ENDPOINT: sink.url },
      ports: ["PROMETHEUS_PORT"],
    });
    onTestFinished(() => collector.close());
    for (const [topic, batch] of sent)
      await bus.publish(topic, [{ key: NODE_NAME, value: encodeMetrics(batch), headers: {} }]);

    await until("all records are at the sink", () => sink.bodies.length >= sent.length);
    expect(sink.bodies.map(otherReading).toSorted()).toEqual(
      sent.map(([, batch]) => otherReading(encodeMetrics(batch))).toSorted(),
    );

    const url = `http://127.0.0.1:${collector.ports["PROMETHEUS_PORT"]}/metrics`;
    const read = async (): Promise<string> => (await fetch(url)).text();
    await until("both records of the probe and the others are on the page", async () => {
      const page = await read();
      const lost = sample(page, "isochrone_probe_packets_total", { outcome: "lost" });
      return lost === 4 && sample(page, "istio_request_bytes_count") === 6;
    });
    const page = await read();
    const link = { destination_node: "node-2", k8s_node_name: NODE_NAME };
    expect(sample(page, "isochrone_probe_packets_total", { ...link, outcome: "received" })).toBe(
      rtts.length + 2,
    );
    expect(sample(page, "isochrone_probe_rtt_variation_seconds_total", link)).toBeCloseTo(0.000_25, 12);
    expect(await scrapeNativeHistogram(url, "isochrone_probe_rtt_seconds")).toEqual({
      count: rtts.length + 2,
      sum: expect.closeTo(
        rtts.reduce((sum, rtt) => sum + rtt, 0.0012 + 0.03),
        9,
      ) as number,
      schema: 5,
      zeroCount: 1,
      positiveCount: rtts.length + 1,
    });
    expect(sample(page, "container_cpu_usage_seconds_total", { pod: "web-0" })).toBe(1234.5);
  });

  test("what its Prometheus receiver publishes of pages gives the same graphs as what our collector publishes of them", async () => {
    const bus = openBus();
    const records: BusRecord[] = [];
    await bus.subscribe({
      topics: [...Object.keys(FOREIGN_TOPICS), TOPICS.usage, TOPICS.traffic],
      from: "latest",
      onBatch: async (batch) => {
        records.push(...batch.records);
      },
    });
    const served = await scrapeWith("scrape-to-kafka.yaml", { KAFKA_BROKERS: kafka.brokers[0]! }, () =>
      Object.keys(FOREIGN_TOPICS).every(
        (topic) => records.filter((record) => record.topic === topic).length >= SCRAPES,
      ),
    );
    const theirs = stepsOf(
      records.splice(0).map((record) => ({ ...toOwnTopic(record), ...scrapeOf(record.value) })),
      SCRAPES,
    );
    await scrapeAgain(bus, served, timesOf(theirs));
    await until("ours is in Kafka", () => records.length === 2 * (SCRAPES - 1));
    const ours = records.map((record) => ({ ...record, atMs: decodeHeaders(record.headers)!.sentAtMs }));

    expectSameGraphs(await graphsOf(theirs), await graphsOf(ours), served);
  });

  test("the same by OTLP/HTTP, without Kafka", async () => {
    const sink = await startOtlpSink();
    onTestFinished(() => sink.close());
    const served = await scrapeWith(
      "scrape-to-otlp-http.yaml",
      { AGGREGATOR_URL: sink.url },
      () => sink.bodies.length >= 2 * SCRAPES + 1,
    );
    const theirs = stepsOf(
      sink.bodies.map((request) => ({ request, ...scrapeOf(request) })),
      SCRAPES,
    );
    const ours: Arrival[] = [];
    const publisher: Publisher = {
      async publish(topic, records) {
        for (const record of records)
          ours.push({ ...record, topic, atMs: decodeHeaders(record.headers)!.sentAtMs });
      },
    };
    await scrapeAgain(publisher, served, timesOf(theirs));

    expectSameGraphs(await graphsOf(theirs), await graphsOf(ours), served);
  });

  test("its service graph connector draws channels from spans", async () => {
    const sink = await startOtlpSink();
    onTestFinished(() => sink.close());
    const collector = await startCollector({
      config: recipe("service-graph-to-otlp-http.yaml"),
      environment: { AGGREGATOR_URL: sink.url },
      ports: ["OTLP_PORT"],
    });
    onTestFinished(() => collector.close());
    const calls = [{ from: "site", to: "store", count: 30, failed: 3, milliseconds: 12, kinds: HTTP }];
    const services = {
      site: { "k8s.namespace.name": "shop", "k8s.deployment.name": "web" },
      store: { "k8s.namespace.name": "shop", "k8s.statefulset.name": "db" },
    };
    const arrivals: Arrival[] = [];
    for (let round = 1; round <= 3; round++) {
      await sendSpans(`http://127.0.0.1:${collector.ports["OTLP_PORT"]}`, calls, services);
      await until(`round ${round} is told`, () => sink.bodies.length > arrivals.length);
      for (const request of sink.bodies.slice(arrivals.length)) arrivals.push({ request, atMs: Date.now() });
    }
    const { graphs, unused } = await graphsOf(arrivals);
    expect(unused).toEqual([]);
    expect(graphs.channels.length).toBe(1);
    const [channel] = graphs.channels;
    expect(channel).toMatchObject({ source: "web", target: "db", bytesPerSecond: null });
    // The connector reports its start time, so everything counts, from then to the last point.
    expect(channel!.requestsPerSecond! * countedSeconds(sink.bodies[arrivals.length - 1]!)).toBeCloseTo(
      90,
      0,
    );
    expect(channel!.errorRatio).toBeCloseTo(0.1, 9);
  });
});
