import type { BusRecord } from "@isochrone/bus";
import { createMemoryBus } from "@isochrone/bus/memory";
import { createRegistry, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { MetricsDecoder, RESOURCE_ATTRIBUTES, TOPICS } from "@isochrone/telemetry";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { createPrometheusCollector, type PrometheusCollectorConfig } from "../prometheus-collector.ts";

export const closers: (() => unknown)[] = [];

interface Asked {
  readonly query: string;
  readonly timeMs: number;
  readonly headers: IncomingMessage["headers"];
}

export type Respond = (response: ServerResponse, asked: Asked) => unknown;

export async function serve(respond: Respond): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const listener: RequestListener = (request, response) => {
    void text(request).then((body) => {
      const form = new URLSearchParams(body);
      const one = {
        query: form.get("query") ?? "",
        timeMs: Math.round(Number(form.get("time")) * 1000),
        headers: request.headers,
      };
      asked.push(one);
      return respond(response, one);
    });
  };
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/base/`, asked };
}

export const matrix = (result: unknown, more: object = {}): string =>
  JSON.stringify({ status: "success", data: { resultType: "matrix", result }, ...more });

export const json =
  (body: string, status = 200, headers: Record<string, string> = {}): Respond =>
  (response) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);

export const errorAnswer = (errorType: string, error: string): string =>
  JSON.stringify({ status: "error", errorType, error });

export const START_MS = 1_700_000_000_000;
const INTERVAL_MS = 100;
const PATIENCE_MS = 60_000;

export async function run(url: string, settings: Partial<PrometheusCollectorConfig> = {}) {
  const clock = new ManualClock(START_MS);
  const bus = createMemoryBus({ clock });
  const records: BusRecord[] = [];
  await bus.subscribe({
    topics: [TOPICS.traffic, TOPICS.usage],
    from: "earliest",
    onBatch: async (batch) => {
      records.push(...batch.records);
    },
  });
  const registry = createRegistry();
  const logger = new MemoryLogger();
  const config: PrometheusCollectorConfig = {
    intervalMs: INTERVAL_MS,
    bufferBytes: 1024 * 1024,
    bufferMaxAgeMs: 300_000,
    catchUpRecordsPerSecond: 50,
    prometheusUrl: url,
    prometheusName: "prometheus",
    prometheusPreset: "kube-prometheus",
    prometheusWindowMs: 5000,
    prometheusCatchUpMs: 20_000,
    prometheusTimeoutMs: PATIENCE_MS,
    prometheusMaxResponseBytes: 100_000,
    prometheusMaxSeries: 100,
    prometheusMatchers: [],
    prometheusTrustedPods: [],
    prometheusNamespaceLabel: "namespace",
    prometheusPodLabel: "pod",
    prometheusTrustUnlabelled: false,
    waypointServes: [],
    ztunnelDaemonSets: ["istio-system/ztunnel"],
    hubbleDaemonSets: ["kube-system/cilium"],
    nodeExporterDaemonSets: [],
    prometheusTenant: null,
    prometheusTokenFile: null,
    prometheusUsername: null,
    prometheusPasswordFile: null,
    prometheusCaFile: null,
    prometheusInsecureSkipVerify: false,
    ...settings,
  };
  const collector = createPrometheusCollector(config, {
    bus,
    clock,
    random: seededRandom(1),
    logger,
    registry,
  });
  await collector.start();
  closers.push(async () => {
    await collector.stop();
    await bus.close();
  });
  const round = async (): Promise<void> => {
    await clock.advance(INTERVAL_MS);
    for (const deadlineMs = Date.now() + PATIENCE_MS; clock.pending === 0; await sleep(1))
      if (Date.now() > deadlineMs) throw new Error(`a round has no end; log: ${JSON.stringify(logger)}`);
  };
  const metric = async (name: string, labels: Record<string, string> = {}): Promise<number> => {
    const { values } = await registry.getSingleMetric(`isochrone_collector_prometheus_${name}`)!.get();
    return values
      .filter((value) => Object.entries(labels).every(([key, expected]) => value.labels[key] === expected))
      .reduce((sum, { value }) => sum + value, 0);
  };
  const until = async (check: () => Promise<boolean> | boolean): Promise<void> => {
    for (const deadlineMs = Date.now() + PATIENCE_MS; !(await check()); await round())
      if (Date.now() > deadlineMs) throw new Error(`it never holds; log: ${JSON.stringify(logger)}`);
  };
  return { records, logger, metric, round, until };
}

export function pointsOf(records: readonly BusRecord[]) {
  const points: {
    name: string;
    value: number;
    timeMs: number;
    attributes: Readonly<Record<string, unknown>>;
    temporality: unknown;
  }[] = [];
  for (const record of records)
    new MetricsDecoder().decode(record.value, {
      number: ({ name, attributes, temporality }, _, timeMs, value) =>
        void points.push({ name, value, timeMs, attributes: { ...attributes }, temporality }),
      histogram: () => undefined,
      exponentialHistogram: () => undefined,
      refused: (reason) => fail(reason),
    });
  return points;
}

export function nodesOf(records: readonly BusRecord[]): unknown[] {
  const nodes: unknown[] = [];
  for (const record of records)
    new MetricsDecoder().decode(record.value, {
      number: ({ resource }) => void nodes.push(resource[RESOURCE_ATTRIBUTES.node]),
      histogram: () => undefined,
      exponentialHistogram: () => undefined,
      refused: (reason) => fail(reason),
    });
  return nodes;
}

function fail(reason: string): never {
  throw new Error(`the decoder refused a point: ${reason}`);
}
