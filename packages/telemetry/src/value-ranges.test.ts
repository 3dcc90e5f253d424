import { describe, expect, it } from "vitest";
import { Distribution } from "./distribution.ts";
import { batchOf, RecordingVisitor, START_MS, TIME_MS } from "./testing/batches.ts";
import { MetricsDecoder } from "./otlp/decode.ts";
import { encodeMetrics } from "./otlp/encode.ts";
import type { Metric, Temporality } from "./otlp/model.ts";
import { MAX_RTT_SECONDS, RANGED_METRICS, valueRangeOf } from "./value-ranges.ts";

const ATTRIBUTES = { destination_node: "node-2", namespace: "shop", pod: "web" };

function decode(metric: Metric): RecordingVisitor {
  const visitor = new RecordingVisitor();
  new MetricsDecoder().decode(encodeMetrics(batchOf(metric)), visitor);
  return visitor;
}

function gauge(name: string, value: number): RecordingVisitor {
  return decode({ name, kind: "gauge", points: [{ attributes: ATTRIBUTES, timeMs: TIME_MS, value }] });
}

function sum(name: string, value: number, monotonic: boolean, temporality: Temporality): RecordingVisitor {
  const points = [{ attributes: ATTRIBUTES, startMs: START_MS, timeMs: TIME_MS, value }];
  return decode({ name, kind: "sum", temporality, monotonic, points });
}

const COUNTERS = RANGED_METRICS.filter((name) => valueRangeOf(name).monotonic);

describe("a metric that the graphs are drawn from", () => {
  it.each(RANGED_METRICS)("has no negative values: %s", (name) => {
    expect(gauge(name, -1)).toMatchObject({ points: [], refusals: [`negative ${name}`] });
  });

  it.each(RANGED_METRICS)("has no values above its range: %s", (name) => {
    const { max } = valueRangeOf(name);
    const refusals = [`${max * 1.1 > 1e18 ? "absurd" : "out_of_range"} ${name}`];
    expect(gauge(name, max * 1.1)).toMatchObject({ points: [], refusals });
    expect(gauge(name, max).points).toHaveLength(1);
    expect(gauge(name, 0).points).toHaveLength(1);
  });

  it.each(COUNTERS)("takes sums that only grow: %s", (name) => {
    for (const temporality of ["delta", "cumulative"] as const) {
      for (const value of [-3, 3]) {
        const refusals = [`not_monotonic ${name}`];
        expect(sum(name, value, false, temporality)).toMatchObject({ points: [], refusals });
      }
      expect(sum(name, 3, true, temporality).points).toHaveLength(1);
    }
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e308])(
    "refuses %d in gauges and sums",
    (value) => {
      expect(gauge("k8s.node.memory.working_set", value).points).toEqual([]);
      expect(sum("istio_requests_total", value, true, "delta").points).toEqual([]);
    },
  );
});

describe("another metric", () => {
  it("may be negative, and its sums may fall", () => {
    expect(gauge("temperature", -40).points).toHaveLength(1);
    expect(sum("queue_length", -40, false, "delta").points).toHaveLength(1);
  });
});

describe("round-trip times", () => {
  const rtt = (seconds: number, change: object = {}): RecordingVisitor => {
    const distribution = new Distribution();
    distribution.record(seconds, 3);
    const data = { ...distribution.toData(), ...change };
    const points = [{ attributes: ATTRIBUTES, startMs: START_MS, timeMs: TIME_MS, data }];
    return decode({
      name: "isochrone.probe.rtt",
      kind: "exponentialHistogram",
      temporality: "delta",
      points,
    });
  };

  it("of a minute are taken, longer ones are out of range", () => {
    expect(rtt(MAX_RTT_SECONDS)).toMatchObject({ refusals: [] });
    expect(rtt(MAX_RTT_SECONDS * 1.01)).toMatchObject({
      points: [],
      refusals: ["out_of_range isochrone.probe.rtt"],
    });
  });

  it("whose buckets do not add up to their count are malformed", () => {
    expect(rtt(0.01, { count: 4 }).refusals).toEqual(["malformed isochrone.probe.rtt"]);
  });
});
