// Breaks down the memory of an aggregator on a manual clock: `node tools/node24.mjs --expose-gc
// test/bench/aggregator/memory.ts [--nodes 1000] [--panes 33] [--classes] [--history] [--only probe]`
import type { ClusterStore } from "@isochrone/kubernetes";
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import type { OutgoingRecord } from "@isochrone/bus";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { encodeHeaders } from "@isochrone/telemetry";
import { nodeObject } from "../../soak/cluster/objects.ts";
import { PodStore } from "../../soak/cluster/pod-store.ts";
import { PROBE_PERIOD_MS, World, type WorldRecord, type WorldShape } from "../../soak/cluster/world.ts";
import { heapByClass } from "./heap-classes.ts";
import { BenchBus } from "./bench-bus.ts";

const START_MS = Date.UTC(2026, 0, 1);
const PANE_MS = 10_000;
const WINDOW_MS = 300_000;
const STEP_MS = 2000;
const SCRAPE_PERIOD_MS = 15_000;
const PODS_PER_NODE = 20;
const PEERS_PER_NODE = 12;
const REPLICAS = 10;
const SHOWN_CLASSES = 45;

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "1000" },
    panes: { type: "string", default: "33" },
    only: { type: "string", default: "" },
    classes: { type: "boolean", default: false },
    history: { type: "boolean", default: false },
  },
});
const nodes = Number(values.nodes);
const panes = Number(values.panes);
const shape: WorldShape = {
  nodes,
  podsPerNode: PODS_PER_NODE,
  peersPerNode: PEERS_PER_NODE,
  replicas: REPLICAS,
  churnPerMinute: 0.01,
  scrapePeriodMs: SCRAPE_PERIOD_MS,
  beginMs: START_MS,
};

type Kind = "probe" | "usage" | "traffic";
const KINDS_OF_ALL: readonly Kind[] = ["probe", "usage", "traffic"];

/** Live memory: the heap, and buffers outside it. */
function usedBytes(): { readonly heap: number; readonly buffers: number } {
  if (globalThis.gc === undefined) throw new Error("node must be started with --expose-gc");
  for (let i = 0; i < 3; i++) globalThis.gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return { heap: heapUsed, buffers: arrayBuffers };
}

function* dueNodes(periodMs: number, fromMs: number, toMs: number): Generator<[node: number, atMs: number]> {
  for (let node = 0; node < nodes; node++) {
    const phaseMs = (node / nodes) * periodMs;
    const atMs = Math.floor((toMs - phaseMs) / periodMs) * periodMs + phaseMs;
    if (atMs > fromMs) yield [node, atMs];
  }
}

function* recordsOf(
  world: World,
  kinds: readonly Kind[],
  fromMs: number,
  toMs: number,
): Generator<WorldRecord> {
  if (kinds.includes("probe"))
    for (const [node, atMs] of dueNodes(PROBE_PERIOD_MS, fromMs, toMs)) yield world.probeRecord(node, atMs);
  for (const [node, atMs] of dueNodes(SCRAPE_PERIOD_MS, fromMs, toMs)) {
    if (kinds.includes("usage")) yield world.usageRecord(node, atMs);
    if (kinds.includes("traffic")) yield world.trafficRecord(node, atMs);
  }
}

interface Held {
  readonly heap: number;
  readonly buffers: number;
  readonly cpuSeconds: number;
  readonly points: number;
  /** Peak resident memory, bytes. Includes generating the simulated cluster's records. */
  readonly maxRssBytes: number;
}

async function measure(kinds: readonly Kind[], showClasses: boolean): Promise<Held> {
  const world = new World(shape);
  const clock = new ManualClock(START_MS + PANE_MS);
  const bus = new BenchBus(clock.now());
  const inner = createMemoryStore({ clock });
  for (let node = 0; node < nodes; node++) await inner.create(nodeObject(world, node));
  const store = new PodStore(inner, world, clock.now());
  const { aggregator: config } = loadSettings([aggregatorSettings], {
    env: {},
    overrides: {
      aggregator: {
        host: "127.0.0.1",
        port: 0,
        windowMs: WINDOW_MS,
        paneMs: PANE_MS,
        buildIntervalMs: PANE_MS,
        counterLagMs: SCRAPE_PERIOD_MS + STEP_MS,
        ...(values.history ? {} : { historyMs: 0 }),
      },
    },
  });
  const aggregator = createAggregator(config, {
    clock,
    random: seededRandom(1),
    logger: new MemoryLogger(),
    registry: createRegistry({ processMetrics: false }),
    bus,
    store: store as ClusterStore,
    isShared: true,
    coordinates: { fit: () => new Promise(() => undefined), close: async () => undefined },
  });
  await aggregator.start();
  for (let turn = 0; turn < 50; turn++) await clock.advance(0);
  const sequences = new Map<string, number>();
  let points = 0;
  let spentMs = 0;
  for (let fromMs = clock.now(); fromMs < START_MS + (panes + 1) * PANE_MS; fromMs += STEP_MS) {
    const toMs = fromMs + STEP_MS;
    const byTopic = new Map<string, OutgoingRecord[]>();
    for (const { topic, key, value, points: ofRecord } of recordsOf(world, kinds, fromMs, toMs)) {
      const source = `${topic.split(".")[1]}/${key}`;
      const sequence = sequences.get(source) ?? 0;
      sequences.set(source, sequence + 1);
      const headers = encodeHeaders({ source, epoch: "bench", sequence, sentAtMs: toMs });
      points += ofRecord;
      const records = byTopic.get(topic) ?? [];
      byTopic.set(topic, records);
      records.push({ key, value, headers });
    }
    store.advance(toMs);
    bus.setTime(toMs);
    const before = process.cpuUsage();
    for (const [topic, records] of byTopic) await bus.publish(topic, records);
    await clock.advance(STEP_MS);
    const { user, system } = process.cpuUsage(before);
    spentMs += (user + system) / 1000;
  }
  const maxRssBytes = process.resourceUsage().maxRSS * 1024;
  const held = usedBytes();
  if (showClasses) await printClasses();
  return { ...held, cpuSeconds: spentMs / 1000, points, maxRssBytes };
}

async function printClasses(): Promise<void> {
  for (const { name, objects, bytes } of (await heapByClass()).slice(0, SHOWN_CLASSES))
    console.log(`${megabytes(bytes).padStart(9)} MB ${String(objects).padStart(10)}  ${name}`);
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

function print(name: string, held: Held, base: Held, entities: Readonly<Record<string, number>>): void {
  const bytes = held.heap + held.buffers - base.heap - base.buffers;
  const each = Object.entries(entities).map(
    ([entity, count]) => `${Math.round(bytes / count)} B per ${entity}`,
  );
  console.log(
    `${name}: ${megabytes(bytes)} MB (heap ${megabytes(held.heap - base.heap)}, buffers ${megabytes(held.buffers - base.buffers)})` +
      ` = ${each.join(", ")}; ${held.points} points at ${Math.round(held.points / held.cpuSeconds)} per CPU s; at most ${megabytes(held.maxRssBytes)} MB resident`,
  );
}

const pods = nodes * PODS_PER_NODE;
const links = nodes * PEERS_PER_NODE;
const ENTITIES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  none: { pod: pods },
  probe: { link: links, series: 3 * links },
  usage: { pod: pods, series: 2 * pods },
  traffic: { channel: pods / REPLICAS, series: 2 * pods },
  all: { node: nodes, pod: pods },
};

/** Runs in a separate process, so that leftovers of one aggregator don't count for the next. */
function measureApart(name: string): Held {
  const args = [...process.argv.slice(1), "--only", name];
  const { status, stdout } = spawnSync(process.execPath, [...process.execArgv, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) throw new Error(`measuring ${name} ended with ${status}`);
  const lines = stdout.trimEnd().split("\n");
  if (lines.length > 1) console.log(lines.slice(0, -1).join("\n"));
  return JSON.parse(lines.at(-1)!) as Held;
}

if (values.only === "") {
  let cluster: Held = { heap: 0, buffers: 0, cpuSeconds: 0, points: 0, maxRssBytes: 0 };
  for (const [name, entities] of Object.entries(ENTITIES)) {
    const held = measureApart(name);
    print(name, held, cluster, entities);
    if (name === "none") cluster = held;
  }
} else {
  const kinds = KINDS_OF_ALL.filter((kind) => values.only === "all" || values.only === kind);
  console.log(JSON.stringify(await measure(kinds, values.classes)));
  process.exit(0);
}
