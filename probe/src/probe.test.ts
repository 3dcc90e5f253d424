import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryBus } from "@isochrone/bus/memory";
import type { MemoryBus } from "@isochrone/bus/testing";
import { createRegistry, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { MetricsDecoder, NODE_METRICS, PROBE_METRICS, TOPICS, decodeHeaders } from "@isochrone/telemetry";
import type { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ProbeConfig } from "./settings.ts";
import { probeConfig } from "./testing/probe-config.ts";
import { createMeasuringThreads } from "./measuring-threads.ts";
import type { MeasuringThreads, PlanSource } from "./ports/ports.ts";
import { createProbe, type Probe } from "./probe.ts";
import { TEST_HMAC_KEYS, peerAt, until } from "./testing/harness.ts";
import { SettablePlanSource, planFor } from "./testing/plans.ts";

interface Point {
  readonly metric: string;
  readonly resource: unknown;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: number;
}

let thread: MeasuringThreads;
let bus: MemoryBus;
let registry: Registry;
let logger: MemoryLogger;
let folder: string;
const probes: Probe[] = [];
const points: Point[] = [];
const keys = new Set<string>();
const identities: unknown[] = [];

beforeEach(async () => {
  logger = new MemoryLogger();
  thread = createMeasuringThreads({ clock: systemClock, logger });
  registry = createRegistry();
  bus = createMemoryBus({ clock: systemClock });
  folder = await mkdtemp(join(tmpdir(), "isochrone-probe-"));
  points.length = 0;
  const decoder = new MetricsDecoder();
  const keep = (
    value: number,
    { name, resource, attributes }: { name: string; resource: unknown; attributes: Point["attributes"] },
  ): void => void points.push({ metric: name, resource, attributes, value });
  await bus.subscribe({
    topics: [TOPICS.probe],
    from: "earliest",
    async onBatch(batch) {
      for (const record of batch.records) {
        keys.add(record.key);
        identities.push(decodeHeaders(record.headers));
        decoder.decode(record.value, {
          number: (series, _startMs, _timeMs, value) => keep(value, series),
          histogram: () => {},
          exponentialHistogram: (series, _startMs, _timeMs, data) => keep(data.count, series),
          refused: (reason) => expect.unreachable(`a point was refused: ${reason}`),
        });
      }
    },
  });
});

afterEach(async () => {
  await Promise.all(probes.splice(0).map((probe) => probe.stop()));
  await thread.close();
  await bus.close();
  await rm(folder, { recursive: true });
});

async function start(values: Partial<ProbeConfig>, planSource?: PlanSource): Promise<Probe> {
  const config = probeConfig({
    node: "a",
    hmacKeys: TEST_HMAC_KEYS,
    bindAddress: "127.0.0.1",
    udpPort: 0,
    tcpPort: 0,
    intervalMs: 10,
    timeoutMs: 150,
    publishIntervalMs: 100,
    planRefreshMs: 100,
    warmupPackets: 0,
    stallBoundMs: 1000,
    zeroCheckIntervalMs: 0,
    ...values,
  });
  const probe = createProbe(config, {
    bus,
    clock: systemClock,
    random: systemRandom,
    logger,
    registry,
    thread,
    readCards: async () => [{ name: "lan0", received: 7000, sent: 9000 }],
    ...(planSource === undefined ? {} : { planSource }),
  });
  probes.push(probe);
  await probe.start();
  return probe;
}

const startPeer = (): Promise<Probe> =>
  start(
    { node: "answerer", bindAddress: "127.0.0.2" },
    new SettablePlanSource(planFor("answerer", [], { identity: "127.0.0.2" })),
  );

function packets(node: string, outcome: string, method = "udp_rr"): number {
  return points
    .filter(
      ({ metric, attributes }) => metric === PROBE_METRICS.packets && attributes["destination_node"] === node,
    )
    .filter(({ attributes }) => attributes["outcome"] === outcome && attributes["method"] === method)
    .reduce((sum, { value }) => sum + value, 0);
}

const metrics = (): Promise<string> => registry.metrics();

describe("probe", () => {
  test.each([true, false])(
    "tells what the node's cards have carried where it sees them: %s",
    async (hostNetwork) => {
      const peer = await startPeer();
      await start({ hostNetwork }, new SettablePlanSource(planFor("a", [peerAt(peer)])));
      await until("packets", () => packets("answerer", "received") > 0);
      const told = (direction: string): number[] =>
        points
          .filter(
            ({ metric, attributes }) =>
              metric === NODE_METRICS.network && attributes["direction"] === direction,
          )
          .filter(({ attributes }) => attributes["interface"] === "lan0")
          .map(({ value }) => value);
      if (hostNetwork) await until("cards", () => told("transmit").length > 0);
      expect([told("receive")[0], told("transmit")[0]]).toEqual(
        hostNetwork ? [7000, 9000] : [undefined, undefined],
      );
    },
  );

  test("publishes what it measures: round trips, jitter and packets, keyed and headed by its node", async () => {
    const peer = await startPeer();
    await start({}, new SettablePlanSource(planFor("a", [peerAt(peer)])));
    await until(
      "records",
      () => packets("answerer", "received") > 20 && packets("answerer", "received", "tcp_rr") > 20,
    );
    expect(keys).toContain("a");
    expect(identities.at(-1)).toMatchObject({ source: "probe/a" });
    const names = new Set(points.map(({ metric }) => metric));
    const { bandwidth, bandwidthTests, bandwidthBytes, ...measured } = PROBE_METRICS;
    expect(names).toEqual(new Set(Object.values(measured)));
    expect([bandwidth, bandwidthTests, bandwidthBytes].filter((name) => names.has(name))).toEqual([]);
    expect(points[0]?.resource).toMatchObject({
      "service.name": "isochrone-probe",
      "k8s.node.name": "a",
      "cloud.availability_zone": "z1",
      "cloud.region": "r1",
    });
    const rtts = points.filter(
      ({ metric, attributes }) => metric === PROBE_METRICS.rtt && attributes["method"] === "udp_rr",
    );
    const timed = rtts.reduce((sum, { value }) => sum + value, 0);
    expect(timed).toBeGreaterThan(0);
    // Samples discarded on a busy machine are published separately.
    expect(timed + packets("answerer", "discarded")).toBe(packets("answerer", "received"));
  });

  test("a silent peer is published as lost, and a peer without a packet yet as zeros", async () => {
    await start(
      { intervalMs: 100, timeoutMs: 20 },
      new SettablePlanSource(planFor("a", [peerAt({ udpPort: 9, tcpPort: 9 })])),
    );
    await until(
      "the losses",
      () => packets("answerer", "lost") > 3 && packets("answerer", "lost", "tcp_rr") > 3,
    );
    expect(packets("answerer", "received")).toBe(0);
    const zeros = points.filter(
      ({ attributes, value }) => attributes["outcome"] === "received" && value === 0,
    );
    expect(zeros.length).toBeGreaterThan(0);
    // On a busy machine an interval may end before any packet is decided: then there is no ratio.
    await expect
      .poll(metrics, { timeout: 10_000 })
      .toMatch(/isochrone_rr_loss_ratio\{[^}]*protocol="udp"[^}]*\} 1\n/);
  });

  test("its metrics name both nodes and zones, and a peer that leaves the plan leaves them", async () => {
    const peer = await startPeer();
    const source = new SettablePlanSource(
      planFor("a", [peerAt(peer), peerAt({}, { node: "gone", address: "127.0.0.9", identity: "127.0.0.9" })]),
    );
    await start({ pairHistograms: true }, source);
    await until("both peers", () => packets("answerer", "received") > 0 && packets("gone", "sent") > 0);
    const before = await metrics();
    const labels =
      'source_node="a",destination_node="answerer",source_zone="z1",destination_zone="z2",ip_family="4",protocol="udp"';
    expect(before).toContain(`isochrone_rr_latency_seconds_bucket{${labels},le="+Inf"}`);
    expect(before).toContain(`isochrone_rr_transactions_total{${labels}}`);
    expect(before).toContain(`isochrone_rr_latency_quantile_seconds{${labels},quantile="0.5"}`);
    expect(before).toContain('isochrone_peers{source_node="a",state="known"} 2');
    expect(before).toContain('destination_node="gone"');
    source.body = planFor("a", [peerAt(peer)]);
    await until("the plan", () => logger.events("debug").length > 0);
    const asked = source.asked;
    await until("a later snapshot", () => source.asked > asked + 3);
    expect(await metrics()).not.toContain('destination_node="gone"');
    expect(await metrics()).toContain('isochrone_peers{source_node="a",state="known"} 1');
  });

  test("a hostile plan changes nothing, is named in one line and counted", async () => {
    const peer = await startPeer();
    const source = new SettablePlanSource(planFor("a", [peerAt(peer)]));
    await start({}, source);
    await until("answers", () => packets("answerer", "received") > 0);
    source.body = planFor("a", [peerAt(peer), peerAt(peer, { node: "again", identity: "127.0.0.8" })]);
    const asked = source.asked;
    await until("some refusals", () => source.asked >= asked + 4);
    const sent = packets("answerer", "sent");
    await until("measuring to go on", () => packets("answerer", "sent") > sent + 10);
    expect(packets("again", "sent")).toBe(0);
    expect(
      logger.lines
        .filter(({ event }) => event === "probe plan refused")
        .map(({ fields }) => fields["reason"]),
    ).toEqual(["duplicate_target"]);
    expect(await metrics()).toMatch(
      /isochrone_probe_plan_refused_total\{source_node="a",reason="duplicate_target"\} [3-9]/,
    );
  });

  test("goes on with the plan it has while the source is down, and says so once", async () => {
    const peer = await startPeer();
    const source = new SettablePlanSource(planFor("a", [peerAt(peer)]));
    await start({}, source);
    await until("answers", () => packets("answerer", "received") > 0);
    source.error = new Error("down");
    const asked = source.asked;
    await until("failed attempts", () => source.asked >= asked + 4);
    const sent = packets("answerer", "sent");
    await until("measuring to go on", () => packets("answerer", "sent") > sent + 10);
    expect(logger.events("warn").filter((event) => event === "probe plan source not reachable")).toHaveLength(
      1,
    );
    expect(await metrics()).toMatch(
      /isochrone_probe_plan_fetch_errors_total\{source_node="a"\} ([3-9]|\d\d)/,
    );
  });

  test("starts with the plan of an earlier run while the aggregator is away", async () => {
    const peer = await startPeer();
    const planCachePath = join(folder, "plan.json");
    const first = await start({ planCachePath }, new SettablePlanSource(planFor("a", [peerAt(peer)])));
    await until("answers", () => packets("answerer", "received") > 0);
    await first.stop();
    points.length = 0;
    const away = new SettablePlanSource(null);
    away.error = new Error("away");
    const second = await start({ planCachePath }, away);
    await until("answers from the cached plan", () => packets("answerer", "received") > 0);
    expect(second.ready()).toEqual({ ready: true, reasons: [] });
  });

  test("a cache that somebody tampered with is not used", async () => {
    const planCachePath = join(folder, "plan.json");
    await writeFile(planCachePath, JSON.stringify(planFor("b", [])));
    const away = new SettablePlanSource(null);
    away.error = new Error("away");
    const probe = await start({ planCachePath }, away);
    expect(probe.ready()).toEqual({ ready: false, reasons: ["no probe plan yet"] });
    expect(logger.events("warn")).toContain("cached probe plan not usable");
  });

  test("reads the plan over HTTP with ETag, and takes no body beyond its bound", async () => {
    const peer = await startPeer();
    const seen: (string | undefined)[] = [];
    const paths = new Set<string | undefined>();
    let huge = false;
    const server = createServer((request, response) => {
      seen.push(request.headers["if-none-match"]);
      paths.add(request.url);
      if (huge) {
        response.end("[".repeat(4 << 20));
      } else if (request.headers["if-none-match"] === '"v1"') {
        response.writeHead(304).end();
      } else {
        response.writeHead(200, { etag: '"v1"' }).end(JSON.stringify(planFor("a", [peerAt(peer)])));
      }
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    await start({ aggregatorUrl: `http://127.0.0.1:${port}/` });
    await until("answers and a second look", () => packets("answerer", "received") > 0 && seen.length >= 2);
    expect([...paths]).toEqual(["/api/v1/probe-plan/a"]);
    expect(seen.slice(0, 2)).toEqual([undefined, '"v1"']);
    huge = true;
    await until("the refusal", () => logger.events("warn").includes("probe plan source not reachable"));
    expect(
      String(logger.lines.find(({ event }) => event === "probe plan source not reachable")?.fields["error"]),
    ).toContain("at most 1048576 bytes");
    huge = false;
    server.closeAllConnections();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });

  test("serves health, readiness and metrics on its own port", async () => {
    const free = createServer();
    await new Promise<void>((resolve) => void free.listen(0, "127.0.0.1", resolve));
    const address = free.address();
    const httpPort = typeof address === "object" && address !== null ? address.port : 0;
    await new Promise<void>((resolve) => void free.close(() => resolve()));
    const away = new SettablePlanSource(null);
    away.error = new Error("away");
    await start({ httpPort }, away);
    const url = `http://127.0.0.1:${httpPort}`;
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const readiness = await fetch(`${url}/readyz`);
    expect({ status: readiness.status, body: await readiness.json() }).toEqual({
      status: 503,
      body: { ready: false, reasons: ["no probe plan yet"] },
    });
    expect(await (await fetch(`${url}/metrics`)).text()).toContain(
      'isochrone_probe_interval_seconds{source_node="a"} 0.01',
    );
  });

  test("leaves nothing in a shared registry when it stops", async () => {
    const peer = await startPeer();
    const probe = await start({}, new SettablePlanSource(planFor("a", [peerAt(peer)])));
    await until("answers", () => packets("answerer", "received") > 0);
    await probe.stop();
    expect(await metrics()).not.toContain('source_node="a"');
    expect(await metrics()).toContain('source_node="answerer"');
  });
});
