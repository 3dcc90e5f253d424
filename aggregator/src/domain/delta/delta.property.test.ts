import { seededRandom } from "@isochrone/runtime";
import { expect, test } from "vitest";
import { dumpTables, firstDifference } from "../../testing/dump-tables.ts";
import { RandomRecords } from "../../testing/random-records.ts";
import { Ingest } from "../ingest/ingest.ts";
import { Tables } from "../graphs/tables.ts";
import { applyContributions } from "./apply-delta.ts";
import { DeltaReader } from "./delta-reader.ts";
import { DeltaTables } from "./delta-tables.ts";
import { encodeContributions } from "./encode-delta.ts";

const SHAPE = { windowMs: 120_000, paneMs: 2000, panes: 60, fastPanes: 3 };
const LIMITS = { maxLinks: 100, maxChannels: 100, maxPods: 100 };
const OPTIONS = { maxFutureMs: 1000, maxSeries: 10_000, maxSources: 16 };
const START_MS = 1_700_000_000_000;
const PODS = ["shop/web", "shop/db", "shop/cache"];
const NODES = ["a", "b", "c"];
const CAPACITY_PANE_MS = 3_600_000;

test.each(Array.from({ length: 40 }, (_, seed) => seed + 1))(
  "what is taken directly, by deltas, and by deltas from the wire is the same (seed %i)",
  (seed) => {
    const random = seededRandom(seed);
    const direct = new Tables(SHAPE, LIMITS);
    const byDelta = new Tables(SHAPE, LIMITS);
    const byWire = new Tables(SHAPE, LIMITS);
    const deltas = new DeltaTables(SHAPE, LIMITS, CAPACITY_PANE_MS);
    const ingest = new Ingest(direct, OPTIONS);
    const owner = new Ingest(deltas, OPTIONS);
    const reader = new DeltaReader(byWire, OPTIONS.maxSeries);
    const records = new RandomRecords(random, START_MS).make(150);
    for (const [i, { record, nowMs }] of records.entries()) {
      ingest.take(record, nowMs);
      owner.take(record, nowMs);
      if (random.next() > 0.2 && i < records.length - 1) continue;
      const contributions = deltas.drain(nowMs);
      applyContributions(byDelta, contributions, nowMs);
      for (const piece of encodeContributions(contributions, SHAPE)) reader.read(piece, nowMs);
      const directly = dumpTables(direct, nowMs, PODS, NODES);
      expect(firstDifference(directly, dumpTables(byDelta, nowMs, PODS, NODES))).toBe("");
      expect(firstDifference(directly, dumpTables(byWire, nowMs, PODS, NODES))).toBe("");
    }
    expect(owner.counts).toEqual(ingest.counts);
    expect(reader.refusedPoints).toBe(0);
    expect(direct.links.size + direct.channels.size + direct.pods.size).toBeGreaterThan(10);
  },
);
