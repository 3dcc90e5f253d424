import { median } from "@isochrone/primitives";
import {
  createSharedMetrics,
  EMPTY_CLUSTER,
  EventHistory,
  GraphKeeper,
  SharedIntake,
  Tables,
} from "@isochrone/aggregator/testing";
import type { OutgoingRecord } from "@isochrone/bus";
import { createRegistry, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { encodeHeaders, STATE_TOPICS } from "@isochrone/telemetry";
import { pinToOneCore } from "../one-core.ts";
import { mixRound, PEERS_PER_NODE, POINTS_PER_NODE } from "../telemetry/mix.ts";
import type { BenchResult } from "../types.ts";
import { BenchBus } from "./shared-bus.ts";

const NODES = 1_000;
const START_MS = Date.UTC(2026, 0, 1);
const ROUND_MS = 10_000;
/** Flushes per round: a fifth of the records come before each. */
const SLICES = 5;
const WARM_ROUNDS = 6;
const ROUNDS = 5;
const CHURN_RATIO = 0.01 / 6;
const TARGET_POINTS_PER_SECOND = 60_000;
/** So that Kafka's own cost fits in, too. */
const TARGET_POINTS_PER_CPU_SECOND = 75_000;
const SHAPE = { windowMs: 300_000, paneMs: 10_000, panes: 30, fastPanes: 3 };
const LIMITS = { maxLinks: 500_000, maxChannels: 200_000, maxPods: 500_000 };
const INGEST = { maxFutureMs: 10_000, maxSeries: 1_000_000, maxSources: 16_384, maxSeriesPerSource: 50_000 };
const RULE = { methods: ["udp_rr", "tcp_rr", "icmp"], quantile: "p50" } as const;

interface Addressed {
  readonly topic: string;
  readonly record: OutgoingRecord;
}

/** One round in slices, as publishers hand it to the bus. */
function slicesOf(round: number, nowMs: number): Addressed[][] {
  const slices: Addressed[][] = Array.from({ length: SLICES }, () => []);
  const mix = mixRound(round, {
    nodes: NODES,
    churnRatio: CHURN_RATIO,
    startMs: START_MS,
    roundMs: ROUND_MS,
  });
  let i = 0;
  for (const { topic, key, value } of mix) {
    const headers = encodeHeaders({
      source: `${key}/${topic}`,
      epoch: "bench",
      sequence: round,
      sentAtMs: nowMs,
    });
    slices[Math.floor((i++ * SLICES) / (3 * NODES))]!.push({ topic, record: { key, value, headers } });
  }
  return slices;
}

interface Replica {
  readonly tables: Tables;
  readonly intake: SharedIntake;
  readonly keeper: GraphKeeper;
}

async function startReplica(bus: BenchBus, clock: ManualClock, epoch: string): Promise<Replica> {
  const tables = new Tables(SHAPE, LIMITS);
  const intake: SharedIntake = new SharedIntake({
    bus,
    clock,
    random: seededRandom(1),
    logger: new MemoryLogger(),
    tables,
    limits: LIMITS,
    capacityPaneMs: 3_600_000,
    ingest: INGEST,
    epoch,
    onRefused: (source, reason, detail) => {
      throw new Error(`${source} was refused: ${reason} ${detail}`);
    },
    metrics: createSharedMetrics(createRegistry(), () => intake),
    flushIntervalMs: ROUND_MS / SLICES,
    counterHorizonMs: 60_000,
    maxPendingBytes: 256 * 1024 * 1024,
    handOverMs: 1000,
    fault: null,
  });
  await intake.start();
  for (let turn = 0; turn < 20; turn++) await clock.advance(0);
  return { tables, intake, keeper: new GraphKeeper(tables, RULE, new EventHistory("bench", 10)) };
}

/** Time since `began`, and CPU time of all threads: on a core of its own the two are the same. */
interface Spent {
  readonly ms: number;
  readonly cpuMs: number;
}

function clockOf(): () => Spent {
  const began = performance.now();
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return { ms: performance.now() - began, cpuMs: (user + system) / 1000 };
  };
}

function add(a: Spent, b: Spent): Spent {
  return { ms: a.ms + b.ms, cpuMs: a.cpuMs + b.cpuMs };
}

function middleOf(all: readonly Spent[]): Spent {
  return { ms: median(all.map(({ ms }) => ms))!, cpuMs: median(all.map(({ cpuMs }) => cpuMs))! };
}

/**
 * From records to graphs on one core through the log: decoding, deltas, their encoding, windows, and both
 * graphs once per pane.
 */
export async function run(): Promise<BenchResult[]> {
  const core = pinToOneCore();
  const clock = new ManualClock(START_MS + ROUND_MS);
  const bus = new BenchBus(clock.now());
  const { intake, keeper } = await startReplica(bus, clock, "bench");
  const intakes: Spent[] = [];
  const builds: Spent[] = [];
  for (let round = 1; round <= WARM_ROUNDS + ROUNDS; round++) {
    const slices = slicesOf(round, clock.now());
    let taken: Spent = { ms: 0, cpuMs: 0 };
    for (const slice of slices) {
      const byTopic = Map.groupBy(slice, ({ topic }) => topic);
      const spent = clockOf();
      for (const [topic, ofTopic] of byTopic)
        await bus.publish(
          topic,
          ofTopic.map(({ record }) => record),
        );
      await clock.advance(ROUND_MS / SLICES);
      await clock.advance(0);
      taken = add(taken, spent());
      bus.setTime(clock.now());
    }
    const spent = clockOf();
    keeper.build(EMPTY_CLUSTER, clock.now(), () => true);
    if (round <= WARM_ROUNDS) continue;
    intakes.push(taken);
    builds.push(spent());
  }
  const rounds = WARM_ROUNDS + ROUNDS;
  const points = NODES * POINTS_PER_NODE;
  const links = keeper.newest?.cluster("full").links ?? [];
  const counted = links.reduce((sum, { rttMs }) => sum + rttMs.count, 0);
  if (intake.counts.points !== points * rounds || links.length !== NODES * PEERS_PER_NODE || counted === 0) {
    throw new Error(
      `expected ${points * rounds} points and ${NODES * PEERS_PER_NODE} links, got ${intake.counts.points} and ${links.length}`,
    );
  }
  const perSecond = (ms: number): number => Math.round((points * 1_000) / ms);
  const intakeSpent = middleOf(intakes);
  const buildSpent = middleOf(builds);
  const together = add(intakeSpent, buildSpent);
  const pane = bus.published.get(STATE_TOPICS.pane)!;
  return [
    {
      name: `aggregator, shared: records to graph through the log, ${core}`,
      value: perSecond(together.ms),
      unit: "points/s",
      target: `>= ${TARGET_POINTS_PER_SECOND}`,
      met: perSecond(together.ms) >= TARGET_POINTS_PER_SECOND,
    },
    {
      name: "aggregator, shared: records to graph through the log, by CPU time",
      value: perSecond(together.cpuMs),
      unit: "points/CPU s",
      target: `>= ${TARGET_POINTS_PER_CPU_SECOND}`,
      met: perSecond(together.cpuMs) >= TARGET_POINTS_PER_CPU_SECOND,
    },
    {
      name: "aggregator, shared: intake alone, by CPU time",
      value: perSecond(intakeSpent.cpuMs),
      unit: "points/CPU s",
    },
    {
      name: "aggregator, shared: build of both graphs, CPU time",
      value: Math.round(buildSpent.cpuMs),
      unit: "ms",
    },
    {
      name: "aggregator, shared: bytes of deltas per point taken",
      value: Math.round(pane.bytes / (points * rounds)),
      unit: "bytes",
    },
    await readByOthers(),
  ];
}

/** What it costs a replica to read what another one has drawn from the same records. */
async function readByOthers(): Promise<BenchResult> {
  const clock = new ManualClock(START_MS + ROUND_MS);
  const bus = new BenchBus(clock.now());
  const others: Spent[] = [];
  const log: OutgoingRecord[][] = [];
  const publish = bus.publish.bind(bus);
  bus.publish = async (topic, records) => {
    if (topic === STATE_TOPICS.pane) log.push([...records]);
    await publish(topic, records);
  };
  await startReplica(bus, clock, "owner");
  const readerBus = new BenchBus(clock.now(), false);
  const reader = await startReplica(readerBus, clock, "reader");
  for (let round = 1; round <= WARM_ROUNDS; round++) {
    for (const slice of slicesOf(round, clock.now())) {
      for (const { topic, record } of slice) await bus.publish(topic, [record]);
      await clock.advance(ROUND_MS / SLICES);
      await clock.advance(0);
    }
    const drawn = log.splice(0);
    const spent = clockOf();
    for (const records of drawn) await readerBus.publish(STATE_TOPICS.pane, records);
    if (round > WARM_ROUNDS / 2) others.push(spent());
  }
  if (reader.tables.links.size !== NODES * PEERS_PER_NODE)
    throw new Error(`expected ${NODES * PEERS_PER_NODE} links, got ${reader.tables.links.size}`);
  return {
    name: "aggregator, shared: reading another replica's deltas, by the points that these were drawn from",
    value: Math.round((NODES * POINTS_PER_NODE * 1_000) / middleOf(others).cpuMs),
    unit: "points/CPU s",
  };
}
