// Collector and aggregator are separate processes; a receiver collects their spans.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import protobuf from "protobufjs";
import { describe, expect, test, vi } from "vitest";
import { AggregatorProcess } from "../harness/delivery/aggregator-process.ts";
import { aggregatorEnvironment } from "../harness/delivery/environment.ts";
import { loopbackTestbed } from "../harness/delivery/testbed.ts";
import { kafkaSupport, startKafka } from "../harness/kafka/index.ts";
import { ReapedFolder } from "../harness/common/reaped-folder.ts";
import { servePages } from "../harness/otelcol/pages.ts";

const COLLECTOR = join(import.meta.dirname, "../../collector/src/main.ts");
const READY_MS = 60_000;

const PROTO = `
syntax = "proto3";
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
}
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }`;
const EXPORT = protobuf.parse(PROTO, { keepCase: false }).root.lookupType("ExportTraceServiceRequest");

interface Span {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** "" for the first span of a trace. */
  readonly parentId: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Decoded {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly Record<string, never>[] }[];
  }[];
}

function plain(attributes: readonly KeyValue[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

function spansOf(body: Uint8Array): Span[] {
  const decoded = EXPORT.toObject(EXPORT.decode(body), { longs: Number, bytes: Buffer }) as Decoded;
  const hex = (bytes: Buffer | undefined): string => bytes?.toString("hex") ?? "";
  return decoded.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        service: String(plain(resource.attributes)["service.name"]),
        name: String(span["name"]),
        traceId: hex(span["traceId"]),
        spanId: hex(span["spanId"]),
        parentId: hex(span["parentSpanId"]),
        startMs: Number(span["startTimeUnixNano"]) / 1e6,
        endMs: Number(span["endTimeUnixNano"]) / 1e6,
        attributes: plain(span["attributes"]),
      })),
    ),
  );
}

/** Receives traces and anything else over OTLP/HTTP. */
async function startTraceReceiver() {
  const spans: Span[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    const bytes = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
    if (request.url === "/v1/traces") spans.push(...spansOf(bytes));
    response.setHeader("content-type", "application/x-protobuf");
    response.end();
  };
  const server = createServer((request, response) => void take(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: spans as readonly Span[],
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Ten more requests at each scrape. */
function trafficPage(scrape: number): string {
  const labels = [
    'reporter="source"',
    'source_workload="web"',
    'source_workload_namespace="shop"',
    'destination_workload="db"',
    'destination_workload_namespace="shop"',
    'response_code="200"',
  ];
  return `# TYPE istio_requests_total counter\nistio_requests_total{${labels.join(",")}} ${10 * scrape}\n`;
}

interface Way {
  readonly scrape: Span;
  readonly send: Span;
  readonly intake: Span;
}

function waysOf(spans: readonly Span[]): Way[] {
  return spans
    .filter(({ name }) => name === "aggregator.intake")
    .flatMap((intake) => {
      const send = spans.find(({ spanId }) => spanId === intake.parentId);
      const scrape = spans.find(({ spanId }) => spanId === send?.parentId);
      return send === undefined || scrape === undefined ? [] : [{ scrape, send, intake }];
    });
}

function startCollector(env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(process.execPath, [COLLECTOR], { env, stdio: ["ignore", "ignore", "inherit"] });
}

async function end(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}

const support = kafkaSupport();
if (!support.supported) console.warn(`trace over Kafka skipped: ${support.reason}`);

describe.each([
  ["Kafka", "kafka", support.supported],
  ["OTLP/HTTP", "otlp-http", true],
])("with tracing on, over %s", (_, kind, possible) => {
  test.runIf(possible)(
    "one trace leads from a scrape over the bus into the graph",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "isochrone-trace-"));
      const processes = new ReapedFolder("isochrone-trace-processes");
      const receiver = await startTraceReceiver();
      const pages = await servePages((_page, scrape) => trafficPage(scrape));
      const kafka = kind === "kafka" ? await startKafka({ brokers: 1 }) : null;
      const shared = {
        ...(kafka === null ? {} : aggregatorEnvironment(kafka.brokers, "platformatic")),
        ISOCHRONE_SERVICE_OTLP_ENDPOINT: receiver.url,
        // Spans are sent in batches, every five seconds by default.
        OTEL_BSP_SCHEDULE_DELAY: "200",
      };
      const seat = await loopbackTestbed().seat("aggregator");
      const aggregator = new AggregatorProcess({
        name: "aggregator",
        seat,
        logPath: join(folder, "aggregator.log"),
        env: { ...processes.environment, ...shared },
      });
      let collector: ChildProcess | null = null;
      try {
        aggregator.start();
        await aggregator.ready(READY_MS);
        collector = startCollector({
          ...processes.environment,
          ...shared,
          ISOCHRONE_COLLECTOR_NODE: "node-1",
          ISOCHRONE_COLLECTOR_INTERVAL_MS: "500ms",
          ISOCHRONE_COLLECTOR_STATIC_TARGETS: `istio=http://${pages.address}/istio`,
          ISOCHRONE_COLLECTOR_AGGREGATOR_URL: `http://${seat.host}:${seat.port}`,
          ISOCHRONE_COLLECTOR_HOST: "127.0.0.1",
          ISOCHRONE_COLLECTOR_PORT: "0",
        });
        await vi.waitFor(() => expect(waysOf(receiver.spans).length).toBeGreaterThan(1), {
          timeout: 30_000,
          interval: 100,
        });
        const ways = waysOf(receiver.spans);
        for (const { scrape, send, intake } of ways) {
          expect([scrape, send, intake].map(({ service, name }) => `${service}: ${name}`)).toEqual([
            "isochrone-collector: scrape",
            "isochrone-collector: send isochrone.traffic.v1",
            "isochrone-aggregator: aggregator.intake",
          ]);
          expect(new Set([scrape.traceId, send.traceId, intake.traceId]).size).toBe(1);
          expect(scrape.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
          expect(scrape.parentId).toBe("");
          expect(scrape.attributes["isochrone.target.kind"]).toBe("istio");
          expect(intake.attributes["messaging.destination.name"]).toBe("isochrone.traffic.v1");
          // All processes share the machine's clock.
          expect(scrape.startMs).toBeLessThanOrEqual(send.startMs);
          expect(send.startMs).toBeLessThanOrEqual(intake.startMs);
          expect(intake.startMs).toBeLessThanOrEqual(intake.endMs);
        }
        // Each scrape is a separate trace.
        expect(new Set(ways.map(({ scrape }) => scrape.traceId)).size).toBe(ways.length);
        // The traced records are in the graph.
        await vi.waitFor(
          async () => {
            const graph = JSON.parse(
              await seat.get("/api/v1/graph/workflows/shop/shop", 5000),
            ) as WorkflowGraphSnapshot;
            expect(graph.channels).toMatchObject([{ source: "web", target: "db", origin: "observed" }]);
          },
          { timeout: 10_000, interval: 200 },
        );
      } finally {
        await end(collector);
        await aggregator.kill();
        await processes.remove();
        await kafka?.close();
        await pages.close();
        await receiver.close();
        rmSync(folder, { recursive: true, force: true });
      }
    },
    120_000,
  );
});
