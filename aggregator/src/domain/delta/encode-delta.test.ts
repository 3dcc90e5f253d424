import { MetricsDecoder, type ExponentialHistogramData, type MetricsVisitor } from "@isochrone/telemetry";
import { describe, expect, it } from "vitest";
import type { PointTime } from "../point-time.ts";
import { Tables } from "../graphs/tables.ts";
import { DeltaReader } from "./delta-reader.ts";
import { DeltaTables } from "./delta-tables.ts";
import { encodeContributions } from "./encode-delta.ts";

const SHAPE = { windowMs: 60_000, paneMs: 10_000, panes: 6, fastPanes: 3 };
const LIMITS = { maxLinks: 10_000, maxChannels: 100, maxPods: 100 };
const NOW_MS = 1_700_000_000_000;
const AT: PointTime = {
  startMs: NOW_MS - 1000,
  timeMs: NOW_MS,
  eventMs: NOW_MS,
  offsetMs: 0,
  clockGeneration: 0,
  nowMs: NOW_MS,
};
const PIECE_BYTES = 128 * 1024;
const LONGEST_POINT_BYTES = 1024;

function histogram(count: number): ExponentialHistogramData {
  const seconds = 2 ** (-639.5 / 64);
  return {
    scale: 6,
    offset: -640,
    bucketCounts: [count],
    zeroCount: 0,
    count,
    sum: count * seconds,
    min: seconds,
    max: seconds,
  };
}

function newTables(): DeltaTables {
  return new DeltaTables(SHAPE, LIMITS, 3_600_000);
}

/** Start and time of each point, by metric. */
function pointsOf(pieces: readonly Uint8Array[]): Map<string, [startMs: number, timeMs: number][]> {
  const points = new Map<string, [number, number][]>();
  const note: MetricsVisitor["number"] = ({ name }, startMs, timeMs) => {
    points.set(name, [...(points.get(name) ?? []), [startMs, timeMs]]);
  };
  const visitor: MetricsVisitor = {
    number: note,
    histogram: (series, startMs, timeMs) => note(series, startMs, timeMs, 0),
    exponentialHistogram: (series, startMs, timeMs) => note(series, startMs, timeMs, 0),
    refused: (reason) => {
      throw new Error(reason);
    },
  };
  const decoder = new MetricsDecoder({ maxSeries: 100 });
  for (const piece of pieces) decoder.decode(piece, visitor);
  return points;
}

describe("encodeContributions", () => {
  it("cuts what is long into pieces, of which each and all together can be read", () => {
    const deltas = newTables();
    for (let source = 0; source < 40; source++)
      for (let target = 0; target < 60; target++) {
        const key = { source: `n${source}`, target: `n${target}`, method: "icmp", ipFamily: 4 } as const;
        const link = deltas.links.open(key)!;
        link.addRtt(AT, histogram(1 + target));
        link.addPackets(AT, "sent", 2);
      }
    const pieces = encodeContributions(deltas.drain(NOW_MS), SHAPE);
    expect(pieces.length).toBeGreaterThan(2);
    for (const piece of pieces) expect(piece.length).toBeLessThan(PIECE_BYTES + LONGEST_POINT_BYTES);
    for (const read of [pieces, [Buffer.concat(pieces)]]) {
      const tables = new Tables(SHAPE, LIMITS);
      const reader = new DeltaReader(tables, 10_000);
      for (const piece of read) reader.read(piece, NOW_MS);
      const panes = tables.links.sorted().map((link) => link.read(NOW_MS, SHAPE.panes)!);
      expect(panes).toHaveLength(2400);
      expect(panes.reduce((sum, { rtt }) => sum + rtt!.count, 0)).toBe((40 * 60 * 61) / 2);
      expect(panes.every(({ sent }) => sent === 2)).toBe(true);
    }
  });

  it("tells the time of an increment with its last part, and apart from it where its pane could be mistaken", () => {
    const metrics = ["isochrone.pane.usage.part", "isochrone.pane.usage.cover"];
    const drawn = (toMs: number): unknown[] => {
      const deltas = newTables();
      const counter = deltas.pods.open("shop/web")!.counter("cadvisorCpu");
      counter.take({ fromMs: NOW_MS - 15_000, toMs, delta: 3, reset: false });
      const points = pointsOf(encodeContributions(deltas.drain(NOW_MS), SHAPE));
      return metrics.map((metric) => points.get(metric) ?? []);
    };
    expect(drawn(NOW_MS)).toEqual([
      [
        [NOW_MS - 15_000, NOW_MS],
        [0, NOW_MS - 20_000],
      ],
      [],
    ]);
    expect(drawn(NOW_MS - 0.5)).toEqual([
      [
        [0, NOW_MS - 20_000],
        [0, NOW_MS - 10_000],
      ],
      [[NOW_MS - 15_000, NOW_MS - 0.5]],
    ]);
  });
});
