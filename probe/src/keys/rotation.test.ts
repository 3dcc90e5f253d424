import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryBus } from "@isochrone/bus/memory";
import type { MemoryBus } from "@isochrone/bus/testing";
import { createRegistry, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { MetricsDecoder, PROBE_METRICS, TOPICS } from "@isochrone/telemetry";
import { afterEach, beforeEach, expect, test } from "vitest";
import { probeConfig } from "../testing/probe-config.ts";
import { createProbe, type Probe } from "../probe.ts";
import { peerAt, until } from "../testing/harness.ts";
import { planFor } from "../testing/plans.ts";

const ADDRESSES = { a: "127.0.0.1", b: "127.0.0.2" } as const;
type Node = keyof typeof ADDRESSES;
const NODES: readonly Node[] = ["a", "b"];
const METHODS = ["udp_rr", "tcp_rr"] as const;
const entry = (id: number): string => `${id}:${Buffer.alloc(32, id).toString("base64")}`;

let folder: string;
let server: Server;
let bus: MemoryBus;
const probes: Partial<Record<Node, Probe>> = {};
const signing: Record<Node, number> = { a: 1, b: 1 };
const reported: Partial<Record<Node, string>> = {};
/** Packets by method and outcome, of both probes together. */
const packets: Record<string, number> = {};
const registries = { a: createRegistry(), b: createRegistry() };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "isochrone-rotation-"));
  server = createServer((request, response) => {
    const node = request.url?.endsWith("/a") ? "a" : "b";
    const other = node === "a" ? "b" : "a";
    reported[node] = String(request.headers["isochrone-probe-keys"]);
    const ports = probes[other];
    const peers =
      ports === undefined
        ? []
        : [peerAt(ports, { node: other, address: ADDRESSES[other], identity: ADDRESSES[other] })];
    const plan = planFor(node, peers, { identity: ADDRESSES[node], signingKeyId: signing[node] });
    response.end(JSON.stringify({ ...plan, version: `${peers.length} ${signing[node]}` }));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  bus = createMemoryBus({ clock: systemClock });
  await countPackets();
});

afterEach(async () => {
  await Promise.all(Object.values(probes).map((probe) => probe.stop()));
  await bus.close();
  server.closeAllConnections();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  await rm(folder, { recursive: true });
});

test("keys are rotated under traffic without a packet lost, corrupt or refused", async () => {
  await writeKeys("a", 1);
  await writeKeys("b", 1);
  for (const node of NODES) await startProbe(node);
  await traffic(200);
  const before = { ...packets };

  // Publish as verify-only at different times; wait until all probes report it.
  await writeKeys("b", 1, 2);
  await traffic(100);
  await writeKeys("a", 1, 2);
  await until("the reports", () => NODES.every((node) => reported[node] === "1,2;signing=1"));
  signing.a = 2;
  await until("a's report", () => reported.a === "1,2;signing=2");
  await traffic(200);
  expect(reported.b).toBe("1,2;signing=1");
  signing.b = 2;
  await until("b's report", () => reported.b === "1,2;signing=2");
  await writeKeys("a", 2);
  await traffic(100);
  await writeKeys("b", 2);
  await until("the last reports", () => NODES.every((node) => reported[node] === "2;signing=2"));
  // Longer than the timeout: losses of the last change are known by then.
  await traffic(900);

  const refusals = { a: await registries.a.metrics(), b: await registries.b.metrics() };
  expect(received() - sum(before)).toBeGreaterThan(1200);
  // Samples discarded on a busy machine are neither lost nor refused.
  const usual = [" sent", " discarded"];
  const grown = Object.keys(packets).filter(
    (key) => packets[key] !== before[key] && !usual.some((outcome) => key.endsWith(outcome)),
  );
  expect(grown.toSorted()).toEqual(["tcp_rr received", "udp_rr received"]);
  for (const node of NODES) expect(refusals[node]).not.toContain("responder_refused_total{");
}, 60_000);

test("a probe that never gets the new key shows up as refused: the test above can fail", async () => {
  await writeKeys("a", 1);
  await writeKeys("b", 2);
  signing.a = 1;
  signing.b = 2;
  for (const node of NODES) await startProbe(node);
  await until("losses", () => (packets["udp_rr lost"] ?? 0) > 20);
  expect(packets["udp_rr received"] ?? 0).toBe(0);
  for (const node of NODES) {
    expect(await registries[node].metrics()).toMatch(
      /isochrone_probe_responder_refused_total\{source_node="[ab]",reason="unknown_key"\} [1-9]/,
    );
  }
});

async function startProbe(node: Node): Promise<void> {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const config = probeConfig({
    node,
    hmacKeys: null,
    hmacKeysFile: join(folder, node),
    bindAddress: ADDRESSES[node],
    udpPort: 0,
    tcpPort: 0,
    methods: [...METHODS],
    bandwidth: false,
    intervalMs: 10,
    timeoutMs: 1500,
    publishIntervalMs: 500,
    stallBoundMs: 60_000,
    planRefreshMs: 50,
    warmupPackets: 0,
    zeroCheckIntervalMs: 0,
    aggregatorUrl: `http://127.0.0.1:${port}`,
  });
  const probe = createProbe(config, {
    bus,
    clock: systemClock,
    random: systemRandom,
    logger: new MemoryLogger(),
    registry: registries[node],
  });
  await probe.start();
  probes[node] = probe;
}

async function writeKeys(node: Node, ...ids: readonly number[]): Promise<void> {
  await writeFile(join(folder, node), ids.map(entry).join("\n"));
}

async function traffic(count: number): Promise<void> {
  const wanted = received() + count;
  await until(`${count} packets`, () => received() >= wanted);
}

function received(): number {
  return sum(packets);
}

function sum(counts: Readonly<Record<string, number>>): number {
  return METHODS.reduce((total, method) => total + (counts[`${method} received`] ?? 0), 0);
}

async function countPackets(): Promise<void> {
  for (const key of Object.keys(packets)) delete packets[key];
  const decoder = new MetricsDecoder();
  await bus.subscribe({
    topics: [TOPICS.probe],
    from: "earliest",
    async onBatch(batch) {
      for (const record of batch.records) {
        decoder.decode(record.value, {
          number({ name, attributes }, _startMs, _timeMs, value) {
            if (name !== PROBE_METRICS.packets) return;
            const key = `${String(attributes["method"])} ${String(attributes["outcome"])}`;
            packets[key] = (packets[key] ?? 0) + value;
          },
          histogram: () => {},
          exponentialHistogram: () => {},
          refused: (reason) => expect.unreachable(`a point was refused: ${reason}`),
        });
      }
    },
  });
}
