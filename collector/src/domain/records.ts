import type { Attributes, Metric, MetricsBatch } from "@isochrone/telemetry";

/** 25 labels take about 1 kB per point, so a record stays well below the bus' 1 MiB. */
const MAX_POINTS_PER_RECORD = 400;

const SCOPE = { name: "isochrone.collector" };

export function batchesOf(
  resource: Attributes,
  metrics: readonly Metric[],
  maxPoints: number = MAX_POINTS_PER_RECORD,
): MetricsBatch[] {
  const batches: MetricsBatch[] = [];
  let current: Metric[] = [];
  let room = maxPoints;
  const close = (): void => {
    if (current.length > 0) batches.push({ resource, scope: SCOPE, metrics: current });
    current = [];
    room = maxPoints;
  };
  for (const metric of metrics) {
    for (let from = 0; from < metric.points.length;) {
      const points = metric.points.slice(from, from + room);
      current.push({ ...metric, points } as Metric);
      from += points.length;
      room -= points.length;
      if (room === 0) close();
    }
  }
  close();
  return batches;
}
