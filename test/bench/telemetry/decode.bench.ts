import { Distribution, MetricsDecoder } from "@isochrone/telemetry";
import type { MetricsVisitor } from "@isochrone/telemetry";
import { exportRequest } from "@isochrone/telemetry/testing";
import type { BenchResult } from "../types.ts";
import { POINTS_PER_NODE, mixRound } from "./mix.ts";

const NODES = 1_000;
const ROUNDS = 6;
/** A tenth of the nodes suffices: the generic decoder's speed does not depend on series. */
const PEER_NODES = 100;
const TARGET_POINTS_PER_SECOND = 100_000;
/** 1 % per minute in rounds of 10 s. */
const CHURN_RATIO = 0.01 / 6;

/** A minimal consumer: merges histograms and sums numbers. */
class Sink implements MetricsVisitor {
  readonly rtt = new Distribution();
  points = 0;
  refusals = 0;
  total = 0;

  number(_series: unknown, _startMs: number, _timeMs: number, value: number): void {
    this.points++;
    this.total += value;
  }
  histogram(): void {
    this.points++;
  }
  exponentialHistogram(...[, , , data]: Parameters<MetricsVisitor["exponentialHistogram"]>): void {
    this.points++;
    this.rtt.mergeData(data);
  }
  refused(): void {
    this.refusals++;
  }
}

function timeMs(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function collectGarbage(): void {
  globalThis.gc?.();
}

export async function run(): Promise<BenchResult[]> {
  const decoder = new MetricsDecoder();
  const sink = new Sink();
  const roundsMs: number[] = [];
  let bytes = 0;
  collectGarbage();
  let before = process.memoryUsage();
  let memoryBytes = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const records = Array.from(
      mixRound(round, { nodes: NODES, churnRatio: CHURN_RATIO }),
      (record) => record.value,
    );
    bytes = records.reduce((sum, record) => sum + record.length, 0);
    if (round === 0) {
      collectGarbage();
      before = process.memoryUsage();
    }
    roundsMs.push(timeMs(() => records.forEach((record) => decoder.decode(record, sink))));
    if (round === 0) {
      collectGarbage();
      const after = process.memoryUsage();
      memoryBytes = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
    }
  }
  const points = NODES * POINTS_PER_NODE;
  if (sink.points !== points * ROUNDS || sink.refusals > 0) {
    throw new Error(`expected ${points * ROUNDS} points, got ${sink.points} and ${sink.refusals} refusals`);
  }
  const seriesOfRoundOne = points;
  const warmMs = roundsMs.slice(1).toSorted((a, b) => a - b)[(ROUNDS - 1) >> 1]!;
  const microseconds = (warmMs * 1_000) / points;
  const pointsPerSecond = (points * 1_000) / warmMs;

  const peerRecords = Array.from(mixRound(ROUNDS, { nodes: PEER_NODES }), (record) => record.value);
  const peerPoints = PEER_NODES * POINTS_PER_NODE;
  const decodeGeneric = (): void => peerRecords.forEach((record) => exportRequest.decode(record));
  decodeGeneric();
  const peerMicroseconds = (timeMs(decodeGeneric) * 1_000) / peerPoints;
  const peer = `protobufjs ${peerMicroseconds.toFixed(2)} us/point`;
  return [
    {
      name: `otlp decode, ${decoder.seriesCount.toLocaleString("en-US")} series`,
      value: pointsPerSecond,
      unit: "points/s",
      target: `>= ${TARGET_POINTS_PER_SECOND.toLocaleString("en-US")} points/s`,
      met: pointsPerSecond >= TARGET_POINTS_PER_SECOND && decoder.seriesCount >= 100_000,
    },
    {
      name: "otlp decode, known series",
      value: microseconds,
      unit: "us/point",
      peer,
      ratio: microseconds / peerMicroseconds,
    },
    { name: "otlp decode, first sight", value: (roundsMs[0]! * 1_000) / points, unit: "us/point" },
    { name: "otlp decode, memory", value: memoryBytes / seriesOfRoundOne, unit: "B/series" },
    { name: "otlp record size", value: bytes / points, unit: "B/point" },
  ];
}
