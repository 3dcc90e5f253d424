import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AttributeBytes, attributeKey } from "./attribute-bytes.ts";
import { encodeAttributes, encodeMetrics } from "./encode.ts";
import type { Attributes, Metric } from "./model.ts";
import { ATTRIBUTE_FIELDS, RecordWriter } from "./record-writer.ts";

const SCOPE = { name: "test" };
const RESOURCE: Attributes = { "k8s.node.name": "n1" };

function encoded(field: number, attributes: Attributes): { bytes: Uint8Array; start: number; end: number } {
  const writer = new AttributeBytes();
  writer.begin(field);
  for (const [name, value] of Object.entries(attributes)) writer.addText(attributeKey(name), String(value));
  return { bytes: writer.bytes, start: 0, end: writer.end };
}

function written(metrics: readonly Metric[]): Uint8Array | null {
  const writer = new RecordWriter(RESOURCE, SCOPE);
  for (const metric of metrics) {
    writer.beginMetric(metric);
    if (metric.kind === "exponentialHistogram")
      for (const { startMs = 0, timeMs, attributes, data } of metric.points)
        writer.exponentialHistogram(
          startMs,
          timeMs,
          data,
          encoded(ATTRIBUTE_FIELDS.exponentialHistogram, attributes),
        );
    else if (metric.kind === "histogram")
      for (const { startMs = 0, timeMs, attributes, ...data } of metric.points)
        writer.histogram(startMs, timeMs, data, encoded(ATTRIBUTE_FIELDS.histogram, attributes));
    else
      for (const { startMs = 0, timeMs, attributes, value } of metric.points)
        writer.number(startMs, timeMs, value, encoded(ATTRIBUTE_FIELDS.sum, attributes));
    writer.endMetric();
  }
  return writer.finish();
}

const text = fc.string({ maxLength: 300, unit: "binary" });
const attributes = fc.dictionary(
  text.filter((name) => name !== "" && name !== "__proto__"),
  text,
  { maxKeys: 5 },
);
const timeMs = fc.integer({ min: 1, max: 2e12 });
const head = { name: fc.string({ minLength: 1 }), unit: fc.constantFrom("By", "1", "s") };
const numbers = fc.array(fc.record({ attributes, startMs: timeMs, timeMs, value: fc.double() }), {
  minLength: 1,
});
const metric: fc.Arbitrary<Metric> = fc.oneof(
  fc.record({ ...head, kind: fc.constant("gauge" as const), points: numbers }),
  fc.record({
    ...head,
    kind: fc.constant("sum" as const),
    temporality: fc.constant("cumulative" as const),
    monotonic: fc.boolean(),
    points: numbers,
  }),
  fc.record({
    ...head,
    kind: fc.constant("histogram" as const),
    temporality: fc.constantFrom("cumulative" as const, "delta" as const),
    points: fc.array(
      fc.record({
        attributes,
        timeMs,
        count: fc.nat(),
        sum: fc.double(),
        explicitBounds: fc.array(fc.double()),
        bucketCounts: fc.array(fc.nat()),
      }),
      { minLength: 1 },
    ),
  }),
);

const exponential: fc.Arbitrary<Metric> = fc.record({
  ...head,
  kind: fc.constant("exponentialHistogram" as const),
  temporality: fc.constant("delta" as const),
  points: fc.array(
    fc.record({
      attributes,
      startMs: timeMs,
      timeMs,
      data: fc.record({
        scale: fc.integer({ min: -2, max: 10 }),
        offset: fc.integer({ min: -1000, max: 1000 }),
        bucketCounts: fc.array(fc.nat()),
        zeroCount: fc.nat(),
        count: fc.nat(),
        sum: fc.double(),
        min: fc.double(),
        max: fc.double(),
      }),
    }),
    { minLength: 1 },
  ),
});

describe("RecordWriter", () => {
  it("writes the bytes of encodeMetrics", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(metric, exponential), { minLength: 1, maxLength: 4 }), (metrics) => {
        const expected = encodeMetrics({ resource: RESOURCE, scope: SCOPE, metrics });
        expect(Buffer.from(written(metrics)!).toString("hex")).toBe(Buffer.from(expected).toString("hex"));
      }),
    );
  });

  it("writes several resources one after the other, and attributes in two parts", () => {
    const writer = new RecordWriter(RESOURCE, SCOPE);
    const shape = { name: "m", kind: "gauge" } as const;
    const resources: Attributes[] = [{ a: "1" }, {}, { b: "2" }];
    for (const resource of resources) {
      writer.setResource(resource);
      writer.beginMetric(shape);
      const [part, more] = [{ x: "1" }, { y: "2" }].map((each) =>
        encodeAttributes(ATTRIBUTE_FIELDS.gauge, each),
      );
      writer.number(0, 5, 7, part!, more);
      writer.endMetric();
    }
    const point = { attributes: { x: "1", y: "2" }, timeMs: 5, value: 7 };
    const expected = resources.map((resource) =>
      encodeMetrics({ resource, scope: SCOPE, metrics: [{ ...shape, points: [point] }] }),
    );
    expect(Buffer.from(writer.finish()!).toString("hex")).toBe(Buffer.concat(expected).toString("hex"));
  });

  it("begins anew after each record, and has none where nothing was written", () => {
    const writer = new RecordWriter(RESOURCE, SCOPE);
    expect(writer.finish()).toBe(null);
    const records = [1, 2].map(() => {
      writer.beginMetric({ name: "m", kind: "gauge" });
      writer.number(0, 1, 2, encoded(ATTRIBUTE_FIELDS.gauge, { a: "b" }));
      writer.endMetric();
      expect(writer.points).toBe(1);
      expect(writer.size).toBeGreaterThan(0);
      return writer.finish();
    });
    expect(records[0]).toEqual(records[1]);
    expect(writer.size).toBe(0);
    expect(writer.points).toBe(0);
  });
});

describe("encodeAttributes", () => {
  it("is what points are written with, in the order of the fields' bytes", () => {
    const inOrder = encoded(7, { x: "1", aa: "1", ab: "1" });
    const { bytes, start, end } = encodeAttributes(7, { ab: "1", aa: "1", x: "1" });
    expect(Buffer.from(bytes.subarray(start, end)).toString("hex")).toBe(
      Buffer.from(inOrder.bytes.subarray(0, inOrder.end)).toString("hex"),
    );
  });
});
