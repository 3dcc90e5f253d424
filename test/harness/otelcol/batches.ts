import { Distribution, PROBE_METRICS, type Metric, type MetricsBatch } from "@isochrone/telemetry";
import { NODE_NAME } from "./pages.ts";

const LINK = { destination_node: "node-2", method: "udp_rr", ip_family: "ipv4" };

export function probeBatch(
  startMs: number,
  timeMs: number,
  rttsSeconds: readonly number[],
  lost: number,
): MetricsBatch {
  const rtt = new Distribution();
  for (const seconds of rttsSeconds) rtt.record(seconds);
  const times = { startMs, timeMs };
  const deltaSum = { kind: "sum", temporality: "delta", monotonic: true } as const;
  const packets = (outcome: string, value: number) => ({
    attributes: { ...LINK, outcome },
    ...times,
    value,
    integer: true,
  });
  const metrics: Metric[] = [
    {
      name: PROBE_METRICS.rtt,
      unit: "s",
      kind: "exponentialHistogram",
      temporality: "delta",
      points: [{ attributes: LINK, ...times, data: rtt.toData() }],
    },
    {
      name: PROBE_METRICS.rttVariation,
      unit: "s",
      ...deltaSum,
      points: [{ attributes: LINK, ...times, value: 0.000_125 }],
    },
    {
      name: PROBE_METRICS.packets,
      unit: "{packet}",
      ...deltaSum,
      points: [packets("received", rttsSeconds.length), packets("lost", lost)],
    },
  ];
  return {
    resource: { "service.name": "isochrone-probe", "k8s.node.name": NODE_NAME },
    scope: { name: "isochrone-probe" },
    metrics,
  };
}

export function scrapedBatch(service: string, metric: Metric): MetricsBatch {
  return {
    resource: { "service.name": service, "service.instance.id": "page", "k8s.node.name": NODE_NAME },
    scope: { name: "isochrone-collector" },
    metrics: [metric],
  };
}
