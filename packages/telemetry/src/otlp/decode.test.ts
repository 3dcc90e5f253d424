import { describe, expect, it } from "vitest";
import { RECORD_KINDS, RecordingVisitor, START_MS, TIME_MS, batchOf } from "../testing/batches.ts";
import { exportRequest } from "../testing/otlp-schema.ts";
import { MetricsDecoder } from "./decode.ts";
import { encodeMetrics } from "./encode.ts";
import type { Attributes } from "./model.ts";

const TIME_NS = `${BigInt(TIME_MS) * 1_000_000n}`;

function decode(bytes: Uint8Array, decoder = new MetricsDecoder()): RecordingVisitor {
  const visitor = new RecordingVisitor();
  decoder.decode(bytes, visitor);
  return visitor;
}

function foreign(metrics: readonly object[], resource: object = {}): Uint8Array {
  const request = { resourceMetrics: [{ resource, scopeMetrics: [{ metrics }] }] };
  return exportRequest.encode(exportRequest.fromObject(request)).finish();
}

function bytesField(number: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const length = body.length < 128 ? [body.length] : [(body.length & 0x7f) | 0x80, body.length >> 7];
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), body]);
}

function fixedField(number: number, write: (body: Buffer) => void): Buffer {
  const field = Buffer.alloc(9, number * 8 + 1);
  write(field.subarray(1));
  return field;
}

const time = fixedField(3, (body) => body.writeBigUInt64LE(BigInt(TIME_NS)));
const one = fixedField(4, (body) => body.writeDoubleLE(1));
const name = bytesField(1, Buffer.from("m"));

function attribute(field: number, key: string, value: string): Buffer {
  return bytesField(field, bytesField(1, Buffer.from(key)), bytesField(2, bytesField(1, Buffer.from(value))));
}

function request(...metric: readonly Uint8Array[]): Buffer {
  return bytesField(1, bytesField(2, bytesField(2, ...metric)));
}

function gaugeBatch(attributes: Attributes, value = 1): Uint8Array {
  return encodeMetrics(
    batchOf({ name: "g", kind: "gauge", points: [{ attributes, timeMs: TIME_MS, value }] }),
  );
}

describe("MetricsDecoder", () => {
  it("hands over what was encoded", () => {
    const { points, refusals } = decode(encodeMetrics(RECORD_KINDS["probe packets"]!));
    expect(refusals).toEqual([]);
    expect(
      points.map(({ series, startMs, timeMs, numbers }) => [
        series.attributes["outcome"],
        startMs,
        timeMs,
        ...numbers,
      ]),
    ).toEqual([
      ["sent", START_MS, TIME_MS, 10],
      ["lost", START_MS, TIME_MS, 0],
    ]);
    expect(points[0]!.series).toMatchObject({
      name: "isochrone.probe.packets",
      unit: "{packet}",
      kind: "sum",
      temporality: "delta",
      monotonic: true,
    });
    expect(points[0]!.series.resource).toEqual(RECORD_KINDS["probe packets"]!.resource);
  });

  it("reads an empty request", () => {
    expect(decode(new Uint8Array(0)).points).toEqual([]);
  });

  it("reads a part of a larger buffer", () => {
    const bytes = gaugeBatch({ k: "v" });
    const larger = new Uint8Array(bytes.length + 20).fill(255);
    larger.set(bytes, 7);
    expect(decode(larger.subarray(7, 7 + bytes.length)).points[0]!.series.attributes).toEqual({ k: "v" });
  });

  it("keeps quarters of a microsecond of a time, and whole milliseconds exactly", () => {
    for (const timeMs of [1, TIME_MS, TIME_MS + 0.25, 18_446_744_073_709]) {
      const bytes = encodeMetrics(
        batchOf({ name: "g", kind: "gauge", points: [{ attributes: {}, timeMs, value: 1 }] }),
      );
      expect(decode(bytes).points[0]!.timeMs).toBe(timeMs);
    }
  });

  it("tells metrics apart whose name and unit join to the same bytes", () => {
    const decoder = new MetricsDecoder();
    const seen = [
      ["ab", "c"],
      ["a", "bc"],
    ].map(([metricName, unit]) => {
      const points = [{ attributes: {}, timeMs: TIME_MS, value: 1 }];
      return decode(
        encodeMetrics(batchOf({ name: metricName!, unit: unit!, kind: "gauge", points })),
        decoder,
      ).points[0]!.series;
    });
    expect(seen.map((series) => [series.id, series.name, series.unit])).toEqual([
      [0, "ab", "c"],
      [1, "a", "bc"],
    ]);
  });
});

describe("interning of series", () => {
  it("gives the same object for the same bytes, with the consumer's state on it", () => {
    const decoder = new MetricsDecoder();
    const first = decode(gaugeBatch({ k: "v" }), decoder).points[0]!.series;
    first.state = "mine";
    const again = decode(gaugeBatch({ k: "v" }, 2), decoder).points[0]!;
    expect(again.series).toBe(first);
    expect([again.series.state, again.numbers]).toEqual(["mine", [2]]);
    expect(first.attributes).toBe(again.series.attributes);
  });

  it("gives equal attributes for another order of the labels", () => {
    const decoder = new MetricsDecoder();
    const a = decode(gaugeBatch({ a: "1", b: "2" }), decoder).points[0]!.series;
    const b = decode(gaugeBatch({ b: "2", a: "1" }), decoder).points[0]!.series;
    expect(a.attributes).toEqual(b.attributes);
  });

  it("tells the same labels of two resources apart", () => {
    const decoder = new MetricsDecoder();
    const of = (node: string): Uint8Array => {
      const metric = {
        name: "g",
        kind: "gauge",
        points: [{ attributes: { k: "v" }, timeMs: TIME_MS, value: 1 }],
      } as const;
      return encodeMetrics({ resource: { node }, scope: { name: "s" }, metrics: [metric] });
    };
    const [a, b] = ["a", "b"].map((node) => decode(of(node), decoder).points[0]!.series);
    expect([a!.resource, b!.resource]).toEqual([{ node: "a" }, { node: "b" }]);
    expect(a!.id).not.toBe(b!.id);
  });

  it("evicts the least recently used, counts it, and never gives its id again", () => {
    const decoder = new MetricsDecoder({ maxSeries: 2 });
    const idOf = (k: string): number => decode(gaugeBatch({ k }), decoder).points[0]!.series.id;
    expect(["a", "b", "a", "c", "a", "b"].map(idOf)).toEqual([0, 1, 0, 2, 0, 3]);
    expect([decoder.seriesCount, decoder.evictedSeries]).toEqual([2, 2]);
  });

  it("lets an evicted series still tell its attributes", () => {
    const decoder = new MetricsDecoder({ maxSeries: 1 });
    const evicted = decode(gaugeBatch({ k: "a" }), decoder).points[0]!.series;
    decode(gaugeBatch({ k: "b" }), decoder);
    expect(evicted.attributes).toEqual({ k: "a" });
  });

  it("makes no series of a refused point", () => {
    const decoder = new MetricsDecoder();
    expect(decode(gaugeBatch({ k: "v" }, NaN), decoder).refusals).toEqual(["not_a_number g"]);
    expect(decoder.seriesCount).toBe(0);
  });

  it("refuses options that are no positive integers", () => {
    expect(() => new MetricsDecoder({ maxSeries: 0 })).toThrow("maxSeries must be a positive integer, got 0");
  });
});

describe("any legal order of fields", () => {
  it("takes points before name, value before time, attributes before both", () => {
    const point = bytesField(1, attribute(7, "k", "v"), one, time);
    const { points } = decode(request(bytesField(5, point), name));
    expect(points[0]).toMatchObject({
      timeMs: TIME_MS,
      numbers: [1],
      series: { name: "m", attributes: { k: "v" } },
    });
  });

  it("takes attributes that are scattered among other fields, as the same series as joined ones", () => {
    const decoder = new MetricsDecoder();
    const scattered = bytesField(1, attribute(7, "a", "1"), time, attribute(7, "b", "2"), one);
    const joined = bytesField(1, attribute(7, "a", "1"), attribute(7, "b", "2"), time, one);
    const ids = [scattered, joined].map(
      (point) => decode(request(name, bytesField(5, point)), decoder).points[0]!.series,
    );
    expect(ids[0]).toBe(ids[1]);
    expect(ids[0]!.attributes).toEqual({ a: "1", b: "2" });
  });

  it("takes a tag that is written longer than it need be", () => {
    const overlong = Buffer.concat([Buffer.from([0xba, 0x00]), attribute(7, "a", "1").subarray(1)]);
    const { points } = decode(request(name, bytesField(5, bytesField(1, time, overlong, one))));
    expect(points[0]!.series.attributes).toEqual({ a: "1" });
  });

  it("takes the resource after the metrics, in one piece or several", () => {
    const metrics = bytesField(2, bytesField(2, name, bytesField(5, bytesField(1, time, one))));
    const late = bytesField(
      1,
      metrics,
      bytesField(1, attribute(1, "a", "1")),
      bytesField(1, attribute(1, "b", "2")),
    );
    expect(decode(late).points[0]!.series.resource).toEqual({ a: "1", b: "2" });
  });

  it("takes temporality before the points, and data in several pieces", () => {
    const point = bytesField(1, time, one);
    const head = Buffer.from([0x18, 1, 0x10, 2]);
    const { points } = decode(request(bytesField(7, head, point), name, bytesField(7, point)));
    expect(points.map(({ series }) => series.temporality)).toEqual(["cumulative", "cumulative"]);
  });

  it("takes the last kind of data when there are two", () => {
    const point = bytesField(1, time, one);
    const { points } = decode(
      request(name, bytesField(7, point, Buffer.from([0x10, 1])), bytesField(5, point)),
    );
    expect(points.map(({ series }) => series.kind)).toEqual(["gauge"]);
  });

  it("skips unknown fields of every wire type at every level", () => {
    const unknown = Buffer.concat([
      Buffer.from([0xa0, 0x06, 0xff, 0x01]),
      Buffer.from([0xa1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8]),
      Buffer.from([0xa2, 0x06, 2, 9, 9]),
      Buffer.from([0xa5, 0x06, 1, 2, 3, 4]),
      Buffer.from([0xa3, 0x06, 0x08, 0x01, 0xa4, 0x06]),
    ]);
    const pair = bytesField(
      7,
      unknown,
      bytesField(1, Buffer.from("k")),
      bytesField(2, unknown, bytesField(1, Buffer.from("v"))),
    );
    const point = bytesField(1, unknown, time, one, pair, unknown);
    const metric = bytesField(2, unknown, name, bytesField(5, unknown, point));
    const bytes = Buffer.concat([
      unknown,
      bytesField(1, unknown, bytesField(1, unknown), bytesField(2, unknown, metric)),
    ]);
    expect(decode(bytes).points[0]!.series.attributes).toEqual({ k: "v" });
  });

  it("takes bucket counts packed and one by one", () => {
    const numbers = [
      time,
      fixedField(4, (body) => body.writeBigUInt64LE(3n)),
      fixedField(5, (body) => body.writeDoubleLE(3.01)),
      Buffer.from([0x30, 12]),
    ];
    const packed = bytesField(8, bytesField(2, Buffer.from([1, 2])));
    const unpacked = bytesField(8, Buffer.from([0x10, 1, 0x10, 2]));
    for (const positive of [packed, unpacked]) {
      const data = bytesField(10, bytesField(1, ...numbers, positive), Buffer.from([0x10, 1]));
      const { points, mergeRefusals } = decode(request(name, data));
      // Without minimum and maximum on the wire, the bucket bounds replace them.
      expect(points[0]!.numbers).toEqual([6, 0, 0, 3, 3.01, 1, 2 ** (2 / 64), 1, 2]);
      expect(mergeRefusals).toBe(0);
    }
  });

  it("reads several resources and scopes", () => {
    const metric = { name: "g", gauge: { dataPoints: [{ timeUnixNano: TIME_NS, asInt: "-5" }] } };
    const scopes = [
      { scope: { name: "a" }, metrics: [metric] },
      { scope: { name: "b" }, metrics: [metric] },
    ];
    const message = { resourceMetrics: [{ scopeMetrics: scopes }, { resource: {}, scopeMetrics: scopes }] };
    const { points } = decode(exportRequest.encode(exportRequest.fromObject(message)).finish());
    expect(points.map(({ numbers }) => numbers[0])).toEqual([-5, -5, -5, -5]);
  });
});

describe("points that are refused, while the others come", () => {
  const good = { timeUnixNano: TIME_NS, asDouble: 7 };
  const sum = (point: object, temporality = 2, isMonotonic = true): object => ({
    name: "m",
    sum: { dataPoints: [point, good], aggregationTemporality: temporality, isMonotonic },
  });
  const exponential = (change: object): object => ({
    name: "m",
    exponentialHistogram: {
      aggregationTemporality: 1,
      dataPoints: [
        {
          timeUnixNano: TIME_NS,
          count: "1",
          sum: 1,
          scale: 6,
          positive: { offset: 0, bucketCounts: ["1"] },
          ...change,
        },
      ],
    },
  });
  const histogram = (change: object): object => ({
    name: "m",
    histogram: {
      aggregationTemporality: 2,
      dataPoints: [{ timeUnixNano: TIME_NS, count: "1", sum: 1, ...change }],
    },
  });

  const hostile: readonly (readonly [what: string, metric: object, reason: string])[] = [
    ["NaN", sum({ ...good, asDouble: NaN }), "not_a_number"],
    ["infinity", sum({ ...good, asDouble: -Infinity }), "absurd"],
    ["an absurd number", sum({ ...good, asDouble: 1.1e18 }), "absurd"],
    ["an absurd integer", sum({ timeUnixNano: TIME_NS, asInt: "9223372036854775807" }), "absurd"],
    ["a negative monotonic sum", sum({ ...good, asDouble: -1 }), "negative"],
    ["a point without time", sum({ asDouble: 1 }), "no_time"],
    ["a point without value", sum({ timeUnixNano: TIME_NS }), "no_data"],
    ["a point that says it has no value", sum({ ...good, flags: 1 }), "no_data"],
    ["a histogram without sum", histogram({ sum: undefined }), "no_data"],
    ["a histogram with a negative sum", histogram({ sum: -1 }), "negative"],
    ["a histogram with a sum that is no number", histogram({ sum: NaN }), "not_a_number"],
    [
      "a histogram with too many buckets",
      histogram({ bucketCounts: Array.from({ length: 5_000 }, () => "0") }),
      "too_large",
    ],
    ["negative buckets", exponential({ negative: { bucketCounts: ["1"] } }), "negative"],
    ["a negative exponential sum", exponential({ sum: -1 }), "negative"],
    ["an exponential sum that is no number", exponential({ sum: NaN }), "not_a_number"],
    ["a minimum that is no number", exponential({ min: NaN }), "not_a_number"],
    ["an infinite maximum", exponential({ max: Infinity }), "absurd"],
    ["a minimum above the maximum", exponential({ min: 2, max: 1 }), "malformed"],
    ["a count that isn't the sum of the buckets", exponential({ count: "2" }), "malformed"],
    ["a scale that nobody uses", exponential({ scale: 100 }), "malformed"],
    [
      "too many exponential buckets",
      exponential({ positive: { bucketCounts: Array.from({ length: 5_000 }, () => "0") } }),
      "too_large",
    ],
    ["a summary", { name: "m", summary: { dataPoints: [{ timeUnixNano: TIME_NS }] } }, "unsupported_type"],
    ["a metric without data", { name: "m" }, "no_data"],
    [
      "too many attributes",
      sum({
        ...good,
        attributes: Array.from({ length: 129 }, (_, i) => ({ key: `k${i}`, value: { stringValue: "v" } })),
      }),
      "too_many_attributes",
    ],
  ];
  it.each(hostile)("%s", (_, metric, reason) => {
    const { points, refusals } = decode(foreign([metric, sum(good, 2, true)]));
    expect(refusals).toEqual([`${reason} m`]);
    expect(points.length).toBeGreaterThanOrEqual(2);
  });

  it("each point of a metric of unspecified or unknown temporality", () => {
    for (const temporality of [0, 3]) {
      expect(decode(foreign([sum(good, temporality)])).refusals).toEqual([
        "bad_temporality m",
        "bad_temporality m",
      ]);
    }
  });

  it("but not a negative sum that may fall", () => {
    expect(decode(foreign([sum({ ...good, asDouble: -1 }, 2, false)])).points[0]!.numbers).toEqual([-1]);
  });

  it("but not empty negative buckets", () => {
    expect(decode(foreign([exponential({ negative: { bucketCounts: ["0"] } })])).refusals).toEqual([]);
  });
});
