import { JsonMetricsSerializer, ProtobufMetricsSerializer } from "@opentelemetry/otlp-transformer";
import { describe, expect, it } from "vitest";
import { RECORD_KINDS, RecordingVisitor, START_MS, TIME_MS } from "../testing/batches.ts";
import { exportRequest } from "../testing/otlp-schema.ts";
import { MetricsDecoder } from "./decode.ts";
import { encodeMetrics } from "./encode.ts";
import { transcodeJson } from "./json.ts";
import type { ExponentialHistogramData, Metric, MetricsBatch, NumberPoint } from "./model.ts";

const TEMPORALITIES = { delta: 1, cumulative: 2 } as const;

function nanoseconds(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : `${BigInt(timeMs) * 1_000_000n}`;
}

function genericAttributes(attributes: Readonly<Record<string, unknown>>): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: { stringValue: value } }));
}

function genericHead(point: { readonly startMs?: number; readonly timeMs: number }): object {
  const start = nanoseconds(point.startMs);
  return {
    ...(start === undefined ? {} : { startTimeUnixNano: start }),
    timeUnixNano: nanoseconds(point.timeMs),
  };
}

function genericNumber(point: NumberPoint): object {
  const value = point.integer === true ? { asInt: String(point.value) } : { asDouble: point.value };
  return { ...genericHead(point), ...value, attributes: genericAttributes(point.attributes) };
}

function genericExponential(data: ExponentialHistogramData): object {
  return {
    count: String(data.count),
    sum: data.sum,
    scale: data.scale,
    min: data.min,
    max: data.max,
    ...(data.zeroCount === 0 ? {} : { zeroCount: String(data.zeroCount) }),
    positive: { offset: data.offset, bucketCounts: Array.from(data.bucketCounts, String) },
  };
}

function genericData(metric: Metric): object {
  switch (metric.kind) {
    case "gauge":
      return { gauge: { dataPoints: metric.points.map(genericNumber) } };
    case "sum":
      return {
        sum: {
          dataPoints: metric.points.map(genericNumber),
          aggregationTemporality: TEMPORALITIES[metric.temporality],
          isMonotonic: metric.monotonic,
        },
      };
    case "histogram":
      return {
        histogram: {
          dataPoints: metric.points.map((point) => ({
            ...genericHead(point),
            count: String(point.count),
            sum: point.sum,
            explicitBounds: point.explicitBounds,
            bucketCounts: point.bucketCounts.map(String),
            attributes: genericAttributes(point.attributes),
          })),
          aggregationTemporality: TEMPORALITIES[metric.temporality],
        },
      };
    default:
      return {
        exponentialHistogram: {
          dataPoints: metric.points.map((point) => ({
            ...genericHead(point),
            ...genericExponential(point.data),
            attributes: genericAttributes(point.attributes),
          })),
          aggregationTemporality: TEMPORALITIES[metric.temporality],
        },
      };
  }
}

function genericRequest(batch: MetricsBatch): Record<string, unknown> {
  const metrics = batch.metrics.map((metric) => ({
    name: metric.name,
    ...(metric.unit === undefined ? {} : { unit: metric.unit }),
    ...genericData(metric),
  }));
  return {
    resourceMetrics: [
      {
        resource: { attributes: genericAttributes(batch.resource) },
        scopeMetrics: [{ scope: batch.scope, metrics }],
      },
    ],
  };
}

describe.each(Object.entries(RECORD_KINDS))("a record of %s", (_, batch) => {
  it("says to protobufjs what the batch says", () => {
    const decoded = exportRequest.decode(encodeMetrics(batch));
    expect(exportRequest.toObject(decoded, { longs: String })).toEqual(genericRequest(batch));
  });

  it("is the bytes that protobufjs writes", () => {
    const generic = exportRequest.encode(exportRequest.fromObject(genericRequest(batch))).finish();
    expect(Buffer.from(encodeMetrics(batch)).toString("hex")).toBe(Buffer.from(generic).toString("hex"));
  });
});

describe.each(Object.entries(RECORD_KINDS))("OTLP/JSON of %s", (_, batch) => {
  const transcoded = (json: unknown): Uint8Array => transcodeJson(Buffer.from(JSON.stringify(json)));
  const snakeCase = (json: unknown): unknown =>
    JSON.parse(JSON.stringify(json), (_key, value: unknown) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.fromEntries(
            Object.entries(value).map(([key, inner]): [string, unknown] => [
              key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
              inner,
            ]),
          )
        : value,
    );

  it("says what the protobuf says, whichever names its fields have", () => {
    const json = genericRequest(batch);
    const expected = genericOf(encodeMetrics(batch));
    expect(genericOf(transcoded(json))).toEqual(expected);
    expect(genericOf(transcoded(snakeCase(json)))).toEqual(expected);
  });
});

it("OTLP/JSON of the SDK is the bytes of its protobuf", () => {
  const point = { startTime: HR_START, endTime: HR_TIME, attributes: { a: "b", n: -3, ok: true, r: 0.5 } };
  const metric = (dataPointType: number, value: unknown, valueType = 1) => ({
    descriptor: { name: "m", description: "words", unit: "s", type: "", valueType, advice: {} },
    dataPointType,
    aggregationTemporality: CUMULATIVE,
    isMonotonic: true,
    dataPoints: [{ ...point, value }],
  });
  const buckets = { offset: -4, bucketCounts: [1, 0, 2] };
  const request = {
    resource: { attributes: { "k8s.node.name": "n", list: ["x", 1] } },
    scopeMetrics: [
      {
        scope: { name: "sdk", version: "1" },
        metrics: [
          metric(GAUGE, 1.5),
          metric(SUM, 2 ** 40, 0),
          metric(HISTOGRAM, {
            buckets: { boundaries: [1, 2], counts: [1, 2, 3] },
            count: 6,
            sum: 9,
            min: 0,
            max: 3,
          }),
          metric(EXPONENTIAL_HISTOGRAM, {
            count: 4,
            sum: 5,
            scale: -2,
            zeroCount: 1,
            min: 0,
            max: 2,
            positive: buckets,
            negative: {
              offset: 0,
              bucketCounts: [],
            },
          }),
        ],
      },
    ],
  } as unknown as Serializable;
  const json = JsonMetricsSerializer.serializeRequest(request)!;
  expect(genericOf(transcodeJson(json))).toEqual(
    genericOf(ProtobufMetricsSerializer.serializeRequest(request)!),
  );
});

it.each([
  [
    { resourceMetrics: { scopeMetrics: [{ metrics: [{ name: 7 }] }] } },
    "resourceMetrics[0].scopeMetrics[0].metrics[0].name must be text, got 7",
  ],
  [
    pointOf({ timeUnixNano: "soon" }),
    'timeUnixNano must be an integer of 64 bits, as text or number, got "soon"',
  ],
  [pointOf({ timeUnixNano: "-1" }), 'timeUnixNano must be a time in nanoseconds, got "-1"'],
  [pointOf({ asDouble: "x" }), 'asDouble must be a number, got "x"'],
  [pointOf({ asInt: 0.5 }), "asInt must be an integer of 64 bits, as text or number, got 0.5"],
  [pointOf({ attributes: [{ key: "k", value: deepValue(40) }] }), "must be nested at most 32 deep"],
])("OTLP/JSON %j is refused with its place", (json, message) => {
  expect(() => transcodeJson(Buffer.from(JSON.stringify(json)))).toThrow(message);
});

it("OTLP/JSON keeps integers, times and special numbers as they are, and leaves out what it doesn't know", () => {
  const json = pointOf({
    timeUnixNano: 0x17979cfe3d85ca00,
    startTimeUnixNano: "0",
    exemplars: [{ traceId: "5B8E" }],
    asInt: "9007199254740993",
    attributes: null,
    unknownField: [{}],
  });
  const object = exportRequest.toObject(
    exportRequest.decode(transcodeJson(Buffer.from(JSON.stringify(json)))),
    { longs: String },
  );
  expect(object).toMatchObject(
    pointOf({ timeUnixNano: "1700000000123456000", asDouble: 9_007_199_254_740_992 }),
  );
  for (const special of ["NaN", "Infinity", "-Infinity", "1.5e3"]) {
    const bytes = transcodeJson(Buffer.from(JSON.stringify(pointOf({ asDouble: special }))));
    expect(exportRequest.toObject(exportRequest.decode(bytes))).toMatchObject(
      pointOf({ asDouble: Number(special) }),
    );
  }
});

function genericOf(bytes: Uint8Array): unknown {
  return exportRequest.toObject(exportRequest.decode(bytes), { longs: String });
}

function pointOf(point: object): object {
  return { resourceMetrics: [{ scopeMetrics: [{ metrics: [{ gauge: { dataPoints: [point] } }] }] }] };
}

function deepValue(depth: number): object {
  return depth === 0 ? { stringValue: "x" } : { arrayValue: { values: [deepValue(depth - 1)] } };
}

type Serializable = Parameters<typeof ProtobufMetricsSerializer.serializeRequest>[0];
type SerializableMetric = Serializable["scopeMetrics"][number]["metrics"][number];

const HR_START: [number, number] = [START_MS / 1_000 - (START_MS % 1_000) / 1_000, (START_MS % 1_000) * 1e6];
const HR_TIME: [number, number] = [TIME_MS / 1_000 - (TIME_MS % 1_000) / 1_000, (TIME_MS % 1_000) * 1e6];
const DELTA = 0;
const CUMULATIVE = 1;
const HISTOGRAM = 0;
const EXPONENTIAL_HISTOGRAM = 1;
const GAUGE = 2;
const SUM = 3;

function decodeFromSdk(
  dataPointType: number,
  aggregationTemporality: number,
  value: unknown,
): RecordingVisitor {
  const metric = {
    descriptor: { name: "m", description: "words", unit: "s", type: "", valueType: 1, advice: {} },
    dataPointType,
    aggregationTemporality,
    isMonotonic: true,
    dataPoints: [
      { startTime: HR_START, endTime: HR_TIME, attributes: { a: "b", n: 3, ok: true, r: 0.5 }, value },
    ],
  } as unknown as SerializableMetric;
  const request: Serializable = {
    resource: { attributes: { "service.name": "sdk" } } as unknown as Serializable["resource"],
    scopeMetrics: [{ scope: { name: "s" }, metrics: [metric] }],
  };
  const visitor = new RecordingVisitor();
  new MetricsDecoder().decode(ProtobufMetricsSerializer.serializeRequest(request)!, visitor);
  expect(visitor.refusals).toEqual([]);
  expect(visitor.points.length).toBe(1);
  const [point] = visitor.points;
  expect(point!.series.attributes).toEqual({ a: "b", n: 3, ok: true, r: 0.5 });
  expect(point!.series.resource).toEqual({ "service.name": "sdk" });
  expect(point!.series).toMatchObject({ name: "m", unit: "s" });
  expect([point!.startMs, point!.timeMs]).toEqual([START_MS, TIME_MS]);
  return visitor;
}

describe("the decoder reads what the OpenTelemetry SDK writes:", () => {
  it("a gauge", () => {
    const { points } = decodeFromSdk(GAUGE, CUMULATIVE, -2.5);
    expect(points[0]!.series).toMatchObject({ kind: "gauge", temporality: null });
    expect(points[0]!.numbers).toEqual([-2.5]);
  });

  it("a delta sum", () => {
    const { points } = decodeFromSdk(SUM, DELTA, 12);
    expect(points[0]!.series).toMatchObject({ kind: "sum", temporality: "delta", monotonic: true });
    expect(points[0]!.numbers).toEqual([12]);
  });

  it("a cumulative histogram", () => {
    const buckets = { boundaries: [1, 2], counts: [1, 2, 3] };
    const { points } = decodeFromSdk(HISTOGRAM, CUMULATIVE, {
      buckets,
      sum: 11.5,
      count: 6,
      min: 0.5,
      max: 4,
    });
    expect(points[0]!.series).toMatchObject({ kind: "histogram", temporality: "cumulative" });
    expect(points[0]!.numbers).toEqual([6, 11.5]);
  });

  it("an exponential histogram, which merges", () => {
    const value = {
      count: 6,
      sum: 6.1,
      scale: 6,
      zeroCount: 0,
      min: 1.005,
      max: 1.03,
      positive: { offset: 0, bucketCounts: [1, 2, 3] },
      negative: { offset: 0, bucketCounts: [] },
    };
    const { points, merged, mergeRefusals } = decodeFromSdk(EXPONENTIAL_HISTOGRAM, DELTA, value);
    expect(points[0]!.numbers).toEqual([6, 0, 0, 6, 6.1, 1.005, 1.03, 1, 2, 3]);
    expect([mergeRefusals, merged.count]).toEqual([0, 6]);
  });
});
