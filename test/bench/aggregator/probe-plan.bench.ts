import { median } from "@isochrone/primitives";
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import {
  IN_DEGREE_FACTOR,
  PeerAssignment,
  type PeerRule,
  type PlanNode,
} from "@isochrone/aggregator/testing";
import { createMemoryBus } from "@isochrone/bus/memory";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createLogger, createRegistry, loadSettings, seededRandom, systemClock } from "@isochrone/runtime";
import { pinToOneCore } from "../one-core.ts";
import type { BenchResult } from "../types.ts";

const RULE: PeerRule = { fullMeshLimit: 32, peers: 10, maxZones: 16, rotationMs: 300_000 };
const SIZES = [100, 1_000, 5_000];
const ZONES = 5;
const START_MS = Date.UTC(2026, 0, 1);
const RUNS = 7;
const REQUESTS = 20_000;
const API_REQUESTS = 2_000;
/** Number of windows in which in-degree is checked. */
const WINDOWS = 10;

function clusterOf(count: number): PlanNode[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `node-${String(index).padStart(5, "0")}`,
    zone: `zone-${index % ZONES}`,
    region: "region",
    eligible: true,
  }));
}

function timed(work: () => void): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}

function measure(count: number): BenchResult[] {
  const nodes = clusterOf(count);
  const peers = new PeerAssignment(nodes, RULE);
  const buildMs = median(Array.from({ length: RUNS }, () => timed(() => new PeerAssignment(nodes, RULE))))!;
  const windowMs = median(
    Array.from({ length: RUNS }, (_, window) =>
      timed(() => peers.peersOf(nodes[0]!.name, START_MS - (window + 1) * RULE.rotationMs)),
    ),
  )!;
  const ask = (): void => {
    for (let request = 0; request < REQUESTS; request++)
      peers.peersOf(nodes[request % count]!.name, START_MS);
  };
  ask();
  const requestUs = (median(Array.from({ length: RUNS }, () => timed(ask)))! * 1_000) / REQUESTS;
  const figures = Array.from({ length: WINDOWS }, (_, window) =>
    peers.figures(START_MS + window * RULE.rotationMs),
  );
  const inDegree = Math.max(...figures.map(({ maxInDegree }) => maxInDegree));
  const limit = IN_DEGREE_FACTOR * RULE.peers;
  const subject = `probe plan, ${count.toLocaleString("en-US")} nodes in ${ZONES} zones`;
  return [
    { name: `${subject}: who probes whom, all nodes anew`, value: buildMs, unit: "ms" },
    { name: `${subject}: rotating peers of one window`, value: windowMs, unit: "ms" },
    { name: `${subject}: peers of one node`, value: requestUs, unit: "us/request" },
    { name: `${subject}: peers per node`, value: figures[0]!.pairs / count, unit: "peers" },
    {
      name: `${subject}: most that probe one node, ${WINDOWS} windows`,
      value: inDegree,
      unit: "nodes",
      target: `<= ${limit}`,
      met: inDegree <= limit,
    },
  ];
}

/** A probe's poll every 15 s, with and without the current version. */
async function answers(count: number): Promise<BenchResult[]> {
  const clock = systemClock;
  const bus = createMemoryBus({ clock });
  const store = createMemoryStore({ clock });
  for (const { name, zone } of clusterOf(count)) {
    const labels = { "topology.kubernetes.io/zone": zone!, "topology.kubernetes.io/region": "region" };
    const conditions = [{ type: "Ready", status: "True" }];
    await store.create({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, labels },
      status: { conditions },
    });
  }
  const { aggregator: config } = loadSettings([aggregatorSettings], {
    env: {},
    file: { aggregator: { host: "127.0.0.1", port: 0, buildIntervalMs: 3_600_000, probeRotationMs: 0 } },
  });
  const logger = createLogger({ service: "bench", level: "error" });
  const port = { udpPort: 7411, tcpPort: 7411, bandwidthPort: 7413 };
  const addresses = {
    self: () => "10.0.0.1",
    peer: () => ({ address: "10.0.0.2", identity: "10.0.0.2", ...port }),
  };
  const parts = { bus, store, clock, random: seededRandom(1), logger, registry: createRegistry(), addresses };
  const aggregator = createAggregator(config, parts);
  await aggregator.start();
  while ((await aggregator.app.inject(`/api/v1/probe-plan/node-00000`)).statusCode !== 200)
    await clock.sleep(50);
  const us: number[][] = [[], []];
  for (let request = 0; request < API_REQUESTS; request++) {
    const url = `/api/v1/probe-plan/node-${String(request % count).padStart(5, "0")}`;
    const began = performance.now();
    const full = await aggregator.app.inject(url);
    const between = performance.now();
    await aggregator.app.inject({ url, headers: { "if-none-match": String(full.headers["etag"]) } });
    us[0]!.push((between - began) * 1_000);
    us[1]!.push((performance.now() - between) * 1_000);
  }
  await aggregator.stop();
  await bus.close();
  return ["the plan", "304"].map((what, index) => ({
    name: `probe plan, ${count.toLocaleString("en-US")} nodes: request to the API for ${what}`,
    value: median(us[index]!)!,
    unit: "us",
  }));
}

/** Cost of choosing peers, and evenness of probing. Per node it must not grow with the cluster. */
export async function run(): Promise<BenchResult[]> {
  pinToOneCore();
  const rows = SIZES.flatMap(measure);
  for (const count of SIZES) rows.push(...(await answers(count)));
  return rows;
}
