import { Distribution } from "../distribution.ts";
import type { Attributes, Metric, MetricsBatch, MetricsVisitor, Series } from "../otlp/model.ts";

/** Time of the points: 2026-01-01T00:00:10.250Z. */
export const TIME_MS = Date.UTC(2026, 0, 1, 0, 0, 10, 250);
export const START_MS = TIME_MS - 10_000;

const RESOURCE: Attributes = {
  "service.name": "isochrone-probe",
  "k8s.node.name": "node-1",
  "cloud.region": "eu",
};
const LINK: Attributes = { destination_node: "node-2", method: "udp_rr", ip_family: "ipv4" };

export function batchOf(metric: Metric): MetricsBatch {
  return { resource: RESOURCE, scope: { name: "isochrone", version: "0.1.0" }, metrics: [metric] };
}

function rtt(): Distribution {
  const distribution = new Distribution();
  for (const seconds of [0, 0.001, 0.00101, 0.00102, 0.0011, 0.002]) distribution.record(seconds);
  for (let i = 0; i < 300; i++) distribution.record(0.00105);
  return distribution;
}

export const RECORD_KINDS: Readonly<Record<string, MetricsBatch>> = {
  "probe rtt": batchOf({
    name: "isochrone.probe.rtt",
    unit: "s",
    kind: "exponentialHistogram",
    temporality: "delta",
    points: [{ attributes: LINK, startMs: START_MS, timeMs: TIME_MS, data: rtt().toData() }],
  }),
  "probe rtt variation": batchOf({
    name: "isochrone.probe.rtt.variation",
    unit: "s",
    kind: "sum",
    temporality: "delta",
    monotonic: true,
    points: [{ attributes: LINK, startMs: START_MS, timeMs: TIME_MS, value: 0.000125 }],
  }),
  "probe packets": batchOf({
    name: "isochrone.probe.packets",
    unit: "{packet}",
    kind: "sum",
    temporality: "delta",
    monotonic: true,
    points: [
      {
        attributes: { ...LINK, outcome: "sent" },
        startMs: START_MS,
        timeMs: TIME_MS,
        value: 10,
        integer: true,
      },
      {
        attributes: { ...LINK, outcome: "lost" },
        startMs: START_MS,
        timeMs: TIME_MS,
        value: 0,
        integer: true,
      },
    ],
  }),
  "usage gauge": batchOf({
    name: "container_memory_working_set_bytes",
    unit: "By",
    kind: "gauge",
    points: [
      { attributes: { namespace: "shop", pod: "web-0", container: "app" }, timeMs: TIME_MS, value: 52428800 },
    ],
  }),
  "usage sum": batchOf({
    name: "container_cpu_usage_seconds_total",
    unit: "s",
    kind: "sum",
    temporality: "cumulative",
    monotonic: true,
    points: [{ attributes: { namespace: "shop", pod: "web-0" }, timeMs: TIME_MS, value: 1234.5 }],
  }),
  "istio sum": batchOf({
    name: "istio_requests_total",
    kind: "sum",
    temporality: "cumulative",
    monotonic: true,
    points: [
      {
        attributes: {
          reporter: "source",
          source_workload: "web",
          destination_workload: "büro",
          response_code: "200",
        },
        startMs: START_MS,
        timeMs: TIME_MS,
        value: 4711,
      },
    ],
  }),
  "istio histogram": batchOf({
    name: "istio_request_bytes",
    kind: "histogram",
    temporality: "cumulative",
    points: [
      {
        attributes: { reporter: "destination", source_workload: "web", destination_workload: "db" },
        startMs: START_MS,
        timeMs: TIME_MS,
        count: 6,
        sum: 2_048.5,
        explicitBounds: [100, 1_000],
        bucketCounts: [1, 2, 3],
      },
    ],
  }),
};

interface SeenPoint {
  readonly series: Series;
  readonly startMs: number;
  readonly timeMs: number;
  readonly numbers: readonly number[];
}

export class RecordingVisitor implements MetricsVisitor {
  readonly points: SeenPoint[] = [];
  readonly refusals: string[] = [];
  readonly merged = new Distribution();
  mergeRefusals = 0;

  number(series: Series, startMs: number, timeMs: number, value: number): void {
    this.points.push({ series, startMs, timeMs, numbers: [value] });
  }
  histogram(series: Series, startMs: number, timeMs: number, count: number, sum: number): void {
    this.points.push({ series, startMs, timeMs, numbers: [count, sum] });
  }
  exponentialHistogram(
    ...[series, startMs, timeMs, data]: Parameters<MetricsVisitor["exponentialHistogram"]>
  ): void {
    if (!this.merged.mergeData(data)) this.mergeRefusals++;
    const numbers = [data.scale, data.zeroCount, data.offset, data.count, data.sum, data.min, data.max];
    this.points.push({ series, startMs, timeMs, numbers: [...numbers, ...Array.from(data.bucketCounts)] });
  }
  refused(reason: string, metricName: string): void {
    this.refusals.push(`${reason} ${metricName}`);
  }
}
