import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { RecordingVisitor, TIME_MS } from "../testing/batches.ts";
import { MetricsDecoder } from "./decode.ts";
import type { MetricsDecoderOptions } from "./decode-options.ts";
import { encodeMetrics } from "./encode.ts";
import type { Attributes, Metric } from "./model.ts";

const MIB = 1_048_576;

setFlagsFromString("--expose_gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Buffers are released some time after a collection: poll. */
function heldBytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function gauge(attributes: Attributes, name = "queue"): Metric {
  return { name, kind: "gauge", points: [{ attributes, timeMs: TIME_MS, value: 1 }] };
}

function record(metrics: readonly Metric[], resource: Attributes = { "k8s.node.name": "n" }): Uint8Array {
  return encodeMetrics({ resource, scope: { name: "test" }, metrics });
}

function decode(bytes: Uint8Array, decoder = new MetricsDecoder()): RecordingVisitor {
  const visitor = new RecordingVisitor();
  decoder.decode(bytes, visitor);
  return visitor;
}

function field(number: number, body: Uint8Array): Uint8Array {
  const length: number[] = [];
  for (let rest = body.length; ; rest >>>= 7) {
    length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest);
    if (rest <= 0x7f) break;
  }
  return Buffer.concat([Uint8Array.from([number * 8 + 2, ...length]), body]);
}

describe("attributes", () => {
  it("that are longer than 4 KiB leave their point out, and others of the record are taken", () => {
    const { points, refusals } = decode(record([gauge({ label: "x".repeat(4_096) }), gauge({ label: "y" })]));
    expect(refusals).toEqual(["too_large queue"]);
    expect(points.map(({ series }) => series.attributes)).toEqual([{ label: "y" }]);
  });

  it("that are longer than 8 KiB together leave their point out", () => {
    const few = Object.fromEntries(["a", "b"].map((name) => [name, name.repeat(4_000)]));
    expect(decode(record([gauge(few)])).refusals).toEqual([]);
    expect(decode(record([gauge({ ...few, c: "c".repeat(400) })])).refusals).toEqual(["too_large queue"]);
  });

  it("of 16 records of 4 MiB leave less than 8 MiB behind", async () => {
    const decoder = new MetricsDecoder();
    const visitor = new RecordingVisitor();
    const beforeBytes = heldBytes();
    for (let i = 0; i < 16; i++) {
      decoder.decode(record([gauge({ label: `${i}${"x".repeat(4 * MIB)}` })]), visitor);
    }
    await expect.poll(() => heldBytes() - beforeBytes).toBeLessThan(8 * MIB);
    expect(visitor.refusals).toHaveLength(16);
    expect(decoder.seriesBytes).toBe(0);
  });
});

describe("a resource", () => {
  const long = { "k8s.node.name": "n", command: "x".repeat(16_384) };

  it("that is longer than 16 KiB leaves out its own points only", () => {
    const bytes = Buffer.concat([
      record([gauge({ label: "a" }), gauge({ label: "b" })], long),
      record([gauge({ label: "c" })]),
    ]);
    const { points, refusals } = decode(bytes);
    expect(refusals).toEqual(["too_large queue", "too_large queue"]);
    expect(points.map(({ series }) => series.attributes)).toEqual([{ label: "c" }]);
  });

  it("with more than 128 attributes leaves its points out", () => {
    const many = Object.fromEntries(Array.from({ length: 129 }, (_, i) => [`a${i}`, i]));
    expect(decode(record([gauge({})], many)).refusals).toEqual(["too_many_attributes queue"]);
  });

  it("is not kept without a series, and takes no series' resource away", () => {
    const decoder = new MetricsDecoder({ maxResources: 2 });
    const idOf = (node: string): number =>
      decode(record([gauge({})], { node }), decoder).points[0]!.series.id;
    const id = idOf("honest");
    for (let i = 0; i < 100; i++) decode(record([], { node: `empty-${i}` }), decoder);
    const refusals = Array.from({ length: 100 }, (_, i) => {
      return decode(record([gauge({})], { node: `n${i}` }), decoder).refusals[0] ?? "taken";
    });
    expect(refusals).toEqual(["taken", ...Array.from({ length: 99 }, () => "too_many_series queue")]);
    expect(idOf("honest")).toBe(id);
  });
});

describe("a metric", () => {
  it("whose name is longer than 1 KiB leaves its points out, and is named by its first 256 bytes", () => {
    const { points, refusals } = decode(record([gauge({}, "x".repeat(MIB)), gauge({}, "short")]));
    expect(refusals).toEqual([`too_large ${"x".repeat(256)}`]);
    expect(points).toHaveLength(1);
  });

  it("does not take away the names that series have, however many there are", () => {
    const decoder = new MetricsDecoder();
    const id = decode(record([gauge({}, "honest")]), decoder).points[0]!.series.id;
    const names = Array.from({ length: 20_000 }, (_, i) => gauge({}, `m${i}`));
    expect(decode(record(names), decoder).refusals).toHaveLength(20_000 - 16_383);
    expect(decode(record([gauge({}, "honest")]), decoder).points[0]!.series.id).toBe(id);
  });

  it("in a million pieces is refused without a note of each", () => {
    const name = field(1, Buffer.from("split"));
    const pieces = Buffer.concat([name, Buffer.alloc(2 * MIB, Uint8Array.from([0x2a, 0]))]);
    const bytes = field(1, field(2, field(2, pieces)));
    expect(decode(bytes).refusals).toEqual(["too_large split"]);
  });
});

describe("series", () => {
  const names = (count: number, length: number): Metric[] =>
    Array.from({ length: count }, (_, i) => gauge({ label: `${i}-${"x".repeat(length)}` }));

  const held = (options: MetricsDecoderOptions): MetricsDecoder => {
    const decoder = new MetricsDecoder(options);
    decode(record(names(5_000, 2_000)), decoder);
    return decoder;
  };

  it("take no more bytes than allowed: the least recently used go", () => {
    const decoder = held({ maxSeriesBytes: 2 * MIB });
    expect(decoder.seriesBytes).toBeLessThanOrEqual(2 * MIB);
    expect(decoder.seriesCount).toBeGreaterThan(900);
    expect(decoder.evictedSeries).toBe(5_000 - decoder.seriesCount);
  });

  it("take 256 bytes each on average unless told otherwise", () => {
    expect(held({ maxSeries: 5_000 }).seriesBytes).toBeLessThanOrEqual(5_000 * 256);
  });

  it("hold at most three times their bytes in memory, however many come", async () => {
    const decoder = new MetricsDecoder({ maxSeriesBytes: 2 * MIB });
    const beforeBytes = heldBytes();
    let sentBytes = 0;
    for (let round = 0; round < 20; round++) {
      const bytes = record(names(500, 2_000).map((metric) => ({ ...metric, name: `m${round}` })));
      decoder.decode(bytes, { number() {}, histogram() {}, exponentialHistogram() {}, refused() {} });
      sentBytes += bytes.length;
    }
    expect(sentBytes).toBeGreaterThan(20_000_000);
    // Kept bytes in chunks that are at worst half empty, and an object per series.
    await expect.poll(() => heldBytes() - beforeBytes).toBeLessThan(3 * 2 * MIB);
    expect(decoder.seriesBytes).toBeLessThanOrEqual(2 * MIB);
  });

  it("that the scope does not admit are not kept, and known ones go on", () => {
    const decoder = new MetricsDecoder();
    const asked: number[] = [];
    let room = 1;
    const visitor = new RecordingVisitor();
    const scope = {
      id: 1,
      admits(bytes: number): boolean {
        asked.push(bytes);
        return room-- > 0;
      },
    };
    for (const label of ["a", "b", "a"]) decoder.decode(record([gauge({ label })]), visitor, scope);
    expect(visitor.points).toHaveLength(2);
    expect(visitor.refusals).toEqual(["too_many_series queue"]);
    expect(decoder.seriesCount).toBe(1);
    expect(asked).toHaveLength(2);
    expect(asked[0]).toBeGreaterThan(10);
  });
});
