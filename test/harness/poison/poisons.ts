import { HEADERS, type Metric } from "@isochrone/telemetry";
import protobuf from "protobufjs";
import { encode } from "./encode.ts";

/** Each record has 1,024,000 bytes. */
export const BOMB = { labels: 1_000_000, pointsPerRecord: 8000 };

function memoryGauge(timeMs: number, value: number): Metric {
  const attributes = { namespace: "shop", pod: "web-1", container: "web" };
  return {
    kind: "gauge",
    name: "container_memory_working_set_bytes",
    points: [{ attributes, timeMs, value }],
  };
}

/** The required part of the span message: opentelemetry-proto 1.x, trace.proto. */
const SPANS = protobuf
  .parse(
    `syntax = "proto3";
    message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
    message ResourceSpans { repeated ScopeSpans scope_spans = 2; }
    message ScopeSpans { repeated Span spans = 2; }
    message Span { bytes trace_id = 1; bytes span_id = 2; string name = 5; fixed64 start_time_unix_nano = 7; }`,
  )
  .root.lookupType("ExportTraceServiceRequest");

function spanMessage(): Uint8Array {
  const span = {
    traceId: Buffer.alloc(16, 1),
    spanId: Buffer.alloc(8, 2),
    name: "lookup",
    startTimeUnixNano: 1,
  };
  return SPANS.encode(SPANS.fromObject({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })).finish();
}

interface Poison {
  readonly name: string;
  readonly reason: string;
  readonly value: () => Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export const POISONS: readonly Poison[] = [
  {
    name: "cut off in the middle",
    reason: "malformed",
    value: () => {
      const whole = encode("x", [memoryGauge(Date.now(), 1)]);
      return whole.subarray(0, Math.floor(whole.length / 2));
    },
  },
  {
    name: "text",
    reason: "malformed",
    value: () => Buffer.from('{"resourceMetrics":[{"scopeMetrics":[]}]}'),
  },
  {
    name: "framed for a schema registry",
    reason: "malformed",
    value: () => Buffer.concat([Buffer.from([0, 0, 0, 0, 7]), encode("x", [memoryGauge(Date.now(), 1)])]),
  },
  { name: "another signal", reason: "malformed", value: spanMessage },
  {
    name: "almost as much as a record may have, and nothing in it makes sense",
    reason: "malformed",
    value: () => Buffer.alloc(1_000_000, 0xff),
  },
  {
    name: "an hour ahead",
    reason: "future",
    value: () => encode("x", [memoryGauge(Date.now() + 3_600_000, 1)]),
  },
  {
    name: "a value that is no number",
    reason: "not_a_number",
    value: () => encode("x", [memoryGauge(Date.now(), Number.NaN)]),
  },
  {
    name: "a sequence that is no number",
    reason: "bad_headers",
    value: () => encode("x", [memoryGauge(Date.now(), 1)]),
    headers: { [HEADERS.sequence]: "many" },
  },
];

export function reasonOf(name: string): string {
  return POISONS.find((poison) => poison.name === name)!.reason;
}

/** Records in which each point has a distinct label value. Overwrites the digits of one encoded record. */
export function bombRecords(): (from: number) => Uint8Array {
  const digits = (n: number): string => String(BOMB.labels + n);
  const timeMs = Date.now();
  const points = Array.from({ length: BOMB.pointsPerRecord }, (_, i) => ({
    attributes: {
      reporter: "source",
      source_workload: "evil",
      destination_workload: "victim",
      request_id: digits(i),
    },
    timeMs,
    value: 1,
  }));
  const bytes = Buffer.from(
    encode("evil", [
      { kind: "sum", name: "istio_requests_total", temporality: "cumulative", monotonic: true, points },
    ]),
  );
  let place = 0;
  const places = points.map((_, i) => (place = bytes.indexOf(digits(i), place + 1)));
  return (from) => {
    for (const [i, at] of places.entries()) bytes.write(digits(from + i), at, "latin1");
    return bytes;
  };
}
