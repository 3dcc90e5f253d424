import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Distribution } from "../distribution.ts";
import { RECORD_KINDS, RecordingVisitor, TIME_MS, batchOf } from "../testing/batches.ts";
import { GOLDEN } from "../testing/golden.ts";
import { MetricsDecoder } from "./decode.ts";
import { encodeMetrics } from "./encode.ts";
import type { Metric, MetricsBatch } from "./model.ts";

describe("encodeMetrics", () => {
  it.each(Object.entries(RECORD_KINDS))("writes the golden bytes of %s", (kind, batch) => {
    expect(Buffer.from(encodeMetrics(batch)).toString("hex")).toBe(GOLDEN[kind]);
  });

  it("has golden bytes of nothing that it doesn't write", () => {
    expect(Object.keys(GOLDEN)).toEqual(Object.keys(RECORD_KINDS));
  });

  const point = { attributes: {}, timeMs: TIME_MS, value: 1 };
  const wrong: readonly (readonly [string, Metric, string])[] = [
    [
      "a time that is no number",
      { name: "m", kind: "gauge", points: [{ ...point, timeMs: NaN }] },
      "a time must be",
    ],
    ["a negative time", { name: "m", kind: "gauge", points: [{ ...point, timeMs: -1 }] }, "a time must be"],
    [
      "a time beyond fixed64",
      { name: "m", kind: "gauge", points: [{ ...point, timeMs: 2e13 }] },
      "a time must be",
    ],
    [
      "a fraction as an integer",
      { name: "m", kind: "gauge", points: [{ ...point, value: 1.5, integer: true }] },
      "an integer value must be a safe integer, got 1.5",
    ],
    [
      "a negative count",
      {
        name: "m",
        kind: "histogram",
        temporality: "delta",
        points: [
          { attributes: {}, timeMs: TIME_MS, count: -1, sum: 1, explicitBounds: [], bucketCounts: [] },
        ],
      },
      "a count must be an integer of 0 .. 2^53 - 1, got -1",
    ],
  ];
  it.each(wrong)("refuses %s", (_, metric, message) => {
    expect(() => encodeMetrics(batchOf(metric))).toThrow(expect.objectContaining({ code: "unencodable" }));
    expect(() => encodeMetrics(batchOf(metric))).toThrow(message);
  });
});

const text = fc.string({ maxLength: 200, unit: "binary" });
const value = fc.oneof(
  text,
  fc.boolean(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
);
const attributes = fc.dictionary(
  text.filter((key) => key !== "__proto__"),
  value,
  { maxKeys: 30, noNullPrototype: true },
);
const timeMs = fc.integer({ min: 1, max: 4e12 });
const temporality = fc.constantFrom("delta" as const, "cumulative" as const);
const head = { name: text, unit: text };
const count = fc.integer({ min: 0, max: 1e15 });
const gauge = fc.record({
  ...head,
  kind: fc.constant("gauge" as const),
  points: fc.array(
    fc.record({ attributes, timeMs, value: fc.integer({ min: -1e15, max: 1e15 }), integer: fc.boolean() }),
    { maxLength: 5 },
  ),
});
const sum = fc.record({
  ...head,
  kind: fc.constant("sum" as const),
  temporality,
  monotonic: fc.boolean(),
  points: fc.array(
    fc.record({ attributes, startMs: timeMs, timeMs, value: fc.double({ min: 0, max: 1e18, noNaN: true }) }),
    { maxLength: 5 },
  ),
});
const histogram = fc.record({
  ...head,
  kind: fc.constant("histogram" as const),
  temporality,
  points: fc.array(
    fc.record({
      attributes,
      startMs: timeMs,
      timeMs,
      count,
      sum: fc.double({ min: 0, max: 1e18, noNaN: true }),
      explicitBounds: fc.array(fc.double({ noNaN: true })),
      bucketCounts: fc.array(count),
    }),
    { maxLength: 5 },
  ),
});
const data = fc.array(fc.double({ min: 1e-9, max: 1e6, noNaN: true }), { maxLength: 50 }).map((values) => {
  const distribution = new Distribution();
  for (const latency of values) distribution.record(latency);
  return distribution.toData();
});
const exponential = fc.record({
  ...head,
  kind: fc.constant("exponentialHistogram" as const),
  temporality,
  points: fc.array(fc.record({ attributes, startMs: timeMs, timeMs, data }), { maxLength: 5 }),
});
const batches: fc.Arbitrary<MetricsBatch> = fc.record({
  resource: attributes,
  scope: fc.record({ name: text, version: text }),
  metrics: fc.array(fc.oneof(gauge, sum, histogram, exponential), { maxLength: 5 }),
});

function expectedPoints(batch: MetricsBatch): object[] {
  return batch.metrics.flatMap((metric) =>
    metric.points.map((point) => ({
      name: metric.name,
      unit: metric.unit,
      kind: metric.kind,
      resource: batch.resource,
      attributes: point.attributes,
      startMs: point.startMs ?? 0,
      timeMs: point.timeMs,
      numbers: numbersOf(point),
    })),
  );
}

function numbersOf(point: Metric["points"][number]): number[] {
  if ("data" in point) {
    const { data: d } = point;
    return [d.scale, d.zeroCount, d.offset, d.count, d.sum, d.min, d.max, ...Array.from(d.bucketCounts)];
  }
  // Integers on the wire have no -0.
  return "count" in point ? [point.count, point.sum + 0] : [point.value + 0];
}

describe("any batch", () => {
  it("comes back from the decoder as it was", () => {
    fc.assert(
      fc.property(batches, (batch) => {
        const visitor = new RecordingVisitor();
        new MetricsDecoder().decode(encodeMetrics(batch), visitor);
        expect(visitor.refusals).toEqual([]);
        const seen = visitor.points.map(({ series, numbers, ...times }) => {
          const { name, unit, kind, resource, attributes: labels } = series;
          return {
            name,
            unit,
            kind,
            resource,
            attributes: labels,
            ...times,
            numbers: numbers.map((n) => n + 0),
          };
        });
        expect(seen).toEqual(expectedPoints(batch));
      }),
    );
  });
});
