// Cost of sealed records for a replica: the same records through intakes with and without verification.
import { median } from "@isochrone/primitives";
import {
  createUnprovenCounter,
  type Intake,
  type RecordKeys,
  RecordSeals,
  startIntake,
  Tables,
} from "@isochrone/aggregator/testing";
import type { BusRecord, OutgoingRecord, TopicPartition } from "@isochrone/bus";
import { sealedBus, sealedPublisher, SPEAKER_HEADER } from "@isochrone/bus/seal";
import { createRegistry } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { encodeHeaders } from "@isochrone/telemetry";
import { pinToOneCore } from "../one-core.ts";
import { mixRound, POINTS_PER_NODE } from "../telemetry/mix.ts";
import type { BenchResult } from "../types.ts";
import { benchRecordKeys } from "./bench-record-keys.ts";
import { BenchBus } from "./bench-bus.ts";

const NODES = 1_000;
const START_MS = Date.UTC(2026, 0, 1);
const ROUND_MS = 10_000;
const SLICES = 5;
const WARM_ROUNDS = 4;
const ROUNDS = 5;
const POINTS = NODES * POINTS_PER_NODE;
const MAX_LOSS_PERCENT = 5;
const SHAPE = { windowMs: 300_000, paneMs: 10_000, panes: 30, fastPanes: 3 };
const LIMITS = { maxLinks: 500_000, maxChannels: 200_000, maxPods: 500_000 };
const INGEST = { maxFutureMs: 10_000, maxSeries: 1_000_000, maxSources: 16_384, maxSeriesPerSource: 50_000 };

interface Contender {
  readonly bus: BenchBus;
  readonly clock: ManualClock;
  readonly intake: Intake;
}

interface Addressed {
  readonly topic: string;
  readonly record: OutgoingRecord;
}

function slicesOf(round: number, nowMs: number): Addressed[][] {
  const slices: Addressed[][] = Array.from({ length: SLICES }, () => []);
  let i = 0;
  for (const { topic, key, value } of mixRound(round, {
    nodes: NODES,
    startMs: START_MS,
    roundMs: ROUND_MS,
  })) {
    const source = `${topic}/${key}`;
    const headers = encodeHeaders({ source, epoch: "bench", sequence: round, sentAtMs: nowMs });
    const record = { key, value, headers: { ...headers, [SPEAKER_HEADER]: `node/${key}` } };
    slices[Math.floor((i++ * SLICES) / (3 * NODES))]!.push({ topic, record });
  }
  return slices;
}

async function start(keys: RecordKeys | null): Promise<Contender> {
  const clock = new ManualClock(START_MS + ROUND_MS);
  const bus = new BenchBus(clock.now());
  const logger = new MemoryLogger();
  const registry = createRegistry();
  const seals =
    keys === null
      ? null
      : new RecordSeals({
          keys,
          foreignTopics: new Map(),
          logger,
          unproven: createUnprovenCounter(registry),
        });
  const proofs =
    seals === null || keys === null
      ? undefined
      : {
          known: async () => undefined,
          pending: () => keys.pending(),
          foreignTopics: [],
          speakersOf: (place: TopicPartition) => seals.speakersOf(place),
          isOwn: (record: BusRecord) => seals.isOwn(record),
        };
  const intake = await startIntake({
    bus: keys === null ? bus : sealedBus(bus, keys.sealingKey),
    clock,
    logger,
    registry,
    tables: new Tables(SHAPE, LIMITS),
    ingest: INGEST,
    onRefused: (source, reason, detail) => {
      throw new Error(`${source} was refused: ${reason} ${detail}`);
    },
    counterHorizonMs: 60_000,
    proofs,
  });
  for (let turn = 0; turn < 20; turn++) await clock.advance(0);
  return { bus, clock, intake };
}

async function take({ bus, clock }: Contender, records: readonly Addressed[]): Promise<number> {
  globalThis.gc?.({ type: "minor" });
  const before = process.cpuUsage();
  for (const [topic, ofTopic] of Map.groupBy(records, (addressed) => addressed.topic))
    await bus.publish(
      topic,
      ofTopic.map(({ record }) => record),
    );
  await clock.advance(ROUND_MS / SLICES);
  await clock.advance(0);
  const { user, system } = process.cpuUsage(before);
  bus.setTime(clock.now());
  return (user + system) / 1000;
}

async function sealedSlice(slice: readonly Addressed[], keys: RecordKeys): Promise<readonly Addressed[]> {
  const sealed: Addressed[] = [];
  const publisher = sealedPublisher(
    {
      publish: async (topic, records) => void sealed.push(...records.map((record) => ({ topic, record }))),
      partitionCount: () => new BenchBus(0).partitionCount(),
    },
    keys.sealingKey,
  );
  for (const { topic, record } of slice) await publisher.publish(topic, [record]);
  return sealed;
}

/** Returns the time of each measured round, ms. */
async function measure(keys: RecordKeys | null): Promise<number[]> {
  const contender = await start(keys);
  const { clock, intake } = contender;
  const rounds: number[] = [];
  for (let round = 1; round <= WARM_ROUNDS + ROUNDS; round++) {
    let cpuMs = 0;
    for (const slice of slicesOf(round, clock.now()))
      cpuMs += await take(contender, keys === null ? slice : await sealedSlice(slice, keys));
    if (round > WARM_ROUNDS) rounds.push(cpuMs);
  }
  const expected = POINTS * (WARM_ROUNDS + ROUNDS);
  if (intake.counts.points !== expected)
    throw new Error(`expected ${expected} points, got ${intake.counts.points}`);
  await intake.stop();
  return rounds;
}

/**
 * Runs intakes one after the other, because the later of two in a process is 11 % slower. The order
 * compensates for drift.
 */
export async function run(): Promise<BenchResult[]> {
  const core = pinToOneCore();
  const keys = await benchRecordKeys();
  await measure(keys);
  const plain = await measure(null);
  const proven = [...(await measure(keys)), ...(await measure(keys))];
  plain.push(...(await measure(null)));
  const lossPercent = 100 * (1 - median(plain)! / median(proven)!);
  const perSecond = (rounds: readonly number[]): number => Math.round((POINTS * 1_000) / median(rounds)!);
  return [
    {
      name: `aggregator, Kafka: points/s lost by proving records, ${core}`,
      value: Number(lossPercent.toFixed(2)),
      unit: "%",
      target: `<= ${MAX_LOSS_PERCENT}`,
      met: lossPercent <= MAX_LOSS_PERCENT,
    },
    { name: "aggregator, Kafka: intake of proven records", value: perSecond(proven), unit: "points/CPU s" },
    {
      name: "aggregator, Kafka: intake of the same unproven",
      value: perSecond(plain),
      unit: "points/CPU s",
    },
  ];
}
