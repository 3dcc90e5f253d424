import { median } from "@isochrone/primitives";
import {
  EMPTY_CLUSTER,
  EventHistory,
  GraphKeeper,
  type IncomingRecord,
  Ingest,
  Tables,
} from "@isochrone/aggregator/testing";
import { encodeHeaders } from "@isochrone/telemetry";
import { mixRound, PEERS_PER_NODE, POINTS_PER_NODE } from "../telemetry/mix.ts";
import { pinToOneCore } from "../one-core.ts";
import type { BenchResult } from "../types.ts";

const NODES = 1_000;
const START_MS = Date.UTC(2026, 0, 1);
const ROUND_MS = 10_000;
/** Rounds that fill caches and the whole window and let the compiler settle. */
const WARM_ROUNDS = 30;
const ROUNDS = 7;
/** 1 % per minute in rounds of 10 s. */
const CHURN_RATIO = 0.01 / 6;
const TARGET_POINTS_PER_SECOND = 100_000;
const SHAPE = { windowMs: 300_000, paneMs: 10_000, panes: 30, fastPanes: 3 };
const LIMITS = { maxLinks: 500_000, maxChannels: 200_000, maxPods: 500_000 };
const OPTIONS = { maxFutureMs: 2_000, maxSeries: 1_000_000, maxSources: 16_384 };
const RULE = { methods: ["udp_rr", "tcp_rr", "icmp"], quantile: "p50" } as const;

function recordsOf(round: number, nowMs: number): IncomingRecord[] {
  const sequences = new Map<string, number>();
  return Array.from(
    mixRound(round, { nodes: NODES, churnRatio: CHURN_RATIO, startMs: START_MS, roundMs: ROUND_MS }),
    ({ key, value }) => {
      const sequence = (sequences.get(key) ?? round * 3) + 1;
      sequences.set(key, sequence);
      const headers = encodeHeaders({ source: key, epoch: "bench", sequence, sentAtMs: nowMs });
      return { key, value, headers, appendedAtMs: nowMs };
    },
  );
}

function heapBytes(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** CPU of this process including garbage collection, excluding other programs. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Records to graphs on one core: decoding, windows, and both graphs once per pane. */
export async function run(): Promise<BenchResult[]> {
  const core = pinToOneCore();
  const tables = new Tables(SHAPE, LIMITS);
  const onRefused = (source: string, reason: string, detail: string): never => {
    throw new Error(`${source} was refused: ${reason} ${detail}`);
  };
  const ingest = new Ingest(tables, OPTIONS, { onRefused });
  const keeper = new GraphKeeper(tables, RULE, new EventHistory("bench", 10));
  const ingestMs: number[] = [];
  const buildMs: number[] = [];
  for (let round = 1; round <= WARM_ROUNDS + ROUNDS; round++) {
    const nowMs = START_MS + round * ROUND_MS;
    const records = recordsOf(round, nowMs);
    const began = cpuMs();
    for (const record of records) ingest.take(record, nowMs);
    const taken = cpuMs();
    keeper.build(EMPTY_CLUSTER, nowMs, () => true);
    const built = cpuMs();
    if (round <= WARM_ROUNDS) continue;
    ingestMs.push(taken - began);
    buildMs.push(built - taken);
  }
  const rounds = WARM_ROUNDS + ROUNDS;
  const points = NODES * POINTS_PER_NODE;
  const links = keeper.newest?.cluster("full").links ?? [];
  if (ingest.counts.points !== points * rounds || links.length !== NODES * PEERS_PER_NODE) {
    throw new Error(
      `expected ${points * rounds} points and ${NODES * PEERS_PER_NODE} links, got ${ingest.counts.points} and ${links.length}`,
    );
  }
  const perSecond = (ms: number): number => (points * 1_000) / ms;
  const together = perSecond(median(ingestMs)! + median(buildMs)!);
  return [
    {
      name: `aggregator ingest to graph, ${ingest.series.toLocaleString("en-US")} series, 1 % churn per minute, ${core}`,
      value: Math.round(together),
      unit: "points/CPU s",
      target: `>= ${TARGET_POINTS_PER_SECOND}`,
      met: together >= TARGET_POINTS_PER_SECOND,
    },
    {
      name: "aggregator ingest alone",
      value: Math.round(perSecond(median(ingestMs)!)),
      unit: "points/CPU s",
    },
    {
      name: `aggregator build of both graphs, ${links.length.toLocaleString("en-US")} links`,
      value: Math.round(median(buildMs)!),
      unit: "ms of CPU",
    },
    memoryPerLink(rounds),
  ];
}

/** Uses only probe records, so that only links grow: a full window of panes with 40 buckets each. */
function memoryPerLink(firstRound: number): BenchResult {
  const nodes = 250;
  const before = heapBytes();
  const tables = new Tables(SHAPE, LIMITS);
  const ingest = new Ingest(tables, OPTIONS);
  for (let round = firstRound; round < firstRound + SHAPE.panes; round++) {
    const nowMs = START_MS + round * ROUND_MS;
    for (const { topic, key, value } of mixRound(round, { nodes, startMs: START_MS, roundMs: ROUND_MS })) {
      if (!topic.includes("probe")) continue;
      ingest.take({ key, value, headers: {}, appendedAtMs: nowMs }, nowMs);
    }
  }
  const bytes = (heapBytes() - before) / tables.links.size;
  if (tables.links.size !== nodes * PEERS_PER_NODE)
    throw new Error(`expected ${nodes * PEERS_PER_NODE} links, got ${tables.links.size}`);
  return {
    name: `aggregator memory per link, ${SHAPE.panes} panes of 40 buckets`,
    value: Math.round(bytes),
    unit: "bytes",
  };
}
