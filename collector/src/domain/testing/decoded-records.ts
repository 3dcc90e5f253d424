import type { Attributes, Metric } from "@isochrone/telemetry";
import { exportRequest } from "@isochrone/telemetry/testing";

interface WirePoint {
  readonly startTimeUnixNano?: string;
  readonly timeUnixNano: string;
  readonly asDouble?: number;
  readonly count?: string;
  readonly sum?: number;
  readonly explicitBounds?: readonly number[];
  readonly bucketCounts?: readonly string[];
  readonly attributes?: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[];
}

interface WireData {
  readonly dataPoints: readonly WirePoint[];
  readonly isMonotonic?: boolean;
  readonly aggregationTemporality?: number;
}

interface WireMetric {
  readonly name: string;
  readonly unit: string;
  readonly gauge?: WireData;
  readonly sum?: WireData;
  readonly histogram?: WireData;
}

interface WireRequest {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly WireMetric[] }[];
  }[];
}

/** Decodes records with an independent implementation, and joins metrics that were split over records. */
export function decodedRecords(records: readonly Uint8Array[]): Metric[] {
  const metrics = new Map<string, Metric>();
  for (const record of records) {
    const request = exportRequest.toObject(exportRequest.decode(record), { longs: String }) as WireRequest;
    for (const wire of request.resourceMetrics.flatMap(({ scopeMetrics }) =>
      scopeMetrics.flatMap((scope) => scope.metrics),
    )) {
      const metric = metricOf(wire);
      const before = metrics.get(metric.name);
      if (before === undefined) metrics.set(metric.name, metric);
      else metrics.set(metric.name, { ...before, points: [...before.points, ...metric.points] } as Metric);
    }
  }
  return [...metrics.values()];
}

function metricOf({ name, unit, gauge, sum, histogram }: WireMetric): Metric {
  if (gauge !== undefined) return { name, unit, kind: "gauge", points: gauge.dataPoints.map(numberOf) };
  const data = (sum ?? histogram)!;
  const temporality = data.aggregationTemporality === 2 ? "cumulative" : "delta";
  if (sum !== undefined)
    return {
      name,
      unit,
      kind: "sum",
      temporality,
      monotonic: sum.isMonotonic === true,
      points: sum.dataPoints.map(numberOf),
    };
  return {
    name,
    unit,
    kind: "histogram",
    temporality,
    points: data.dataPoints.map((point) => ({
      ...headOf(point),
      count: Number(point.count ?? 0),
      sum: point.sum!,
      explicitBounds: point.explicitBounds ?? [],
      bucketCounts: (point.bucketCounts ?? []).map(Number),
    })),
  };
}

function numberOf(point: WirePoint): {
  attributes: Attributes;
  timeMs: number;
  startMs?: number;
  value: number;
} {
  return { ...headOf(point), value: point.asDouble! };
}

function headOf({ attributes = [], timeUnixNano, startTimeUnixNano }: WirePoint): {
  attributes: Attributes;
  timeMs: number;
  startMs?: number;
} {
  return {
    attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue])),
    timeMs: msOf(timeUnixNano),
    ...(startTimeUnixNano === undefined ? {} : { startMs: msOf(startTimeUnixNano) }),
  };
}

function msOf(nanoseconds: string): number {
  return Number(BigInt(nanoseconds) / 1_000n) / 1_000;
}
