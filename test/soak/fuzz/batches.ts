// Seed batches of a fuzzer, like those of probes and collectors, and the cluster they describe.
import type { ClusterState } from "@isochrone/aggregator/testing";
import {
  Distribution,
  encodeMetrics,
  PROBE_METRICS,
  type Metric,
  type MetricsBatch,
} from "@isochrone/telemetry";

export const NOW_MS = Date.UTC(2026, 0, 1, 0, 1);

const WORKFLOW = { namespace: "shop", name: "flow" };
const stateOf = (name: string): ClusterState["nodes"][number] => ({
  name,
  zone: "z",
  region: "r",
  segment: null,
  provider: null,
  ready: true,
  cordoned: false,
  allocatableCpuMillicores: 4_000,
  allocatableMemoryBytes: 8e9,
  networkCapacityBitsPerSecond: null,
});
export const CLUSTER: ClusterState = {
  nodes: ["n1", "n2"].map(stateOf),
  leaving: new Set(),
  pods: ["web", "db"].map((name) => ({
    namespace: "shop",
    name: `${name}-1`,
    node: "n1",
    workload: { kind: "Deployment", name },
    workflow: WORKFLOW,
  })),
  workloads: ["web", "db"].map((name) => ({
    namespace: "shop",
    name,
    kind: "Deployment",
    workflow: WORKFLOW,
  })),
  declared: [],
};

function probeBatch(): MetricsBatch {
  const rtt = new Distribution();
  for (let i = 0; i < 30; i++) rtt.record(0.01 + i / 1e4);
  const attributes = { destination_node: "n2", method: "udp_rr", ip_family: "4" };
  const times = { startMs: NOW_MS - 3_000, timeMs: NOW_MS - 1_000 };
  const sum = (name: string, value: number, more = {}): Metric => ({
    kind: "sum",
    name,
    temporality: "delta",
    monotonic: true,
    points: [{ attributes: { ...attributes, ...more }, ...times, value }],
  });
  return {
    resource: { "k8s.node.name": "n1", "cloud.region": "r" },
    scope: { name: "fuzz" },
    metrics: [
      {
        kind: "exponentialHistogram",
        name: PROBE_METRICS.rtt,
        unit: "s",
        temporality: "delta",
        points: [{ attributes, ...times, data: rtt.toData() }],
      },
      sum(PROBE_METRICS.rttVariation, 0.01),
      sum(PROBE_METRICS.rttVariationCount, 29),
      {
        kind: "sum",
        name: PROBE_METRICS.packets,
        temporality: "delta",
        monotonic: true,
        points: [
          { attributes: { ...attributes, outcome: "sent" }, ...times, value: 30 },
          { attributes: { ...attributes, outcome: "received" }, ...times, value: 29 },
          { attributes: { ...attributes, outcome: "lost" }, ...times, value: 1 },
        ],
      },
      {
        kind: "gauge",
        name: PROBE_METRICS.bandwidth,
        points: [
          { attributes: { destination_node: "n2", transport: "tcp", ip_family: "4" }, ...times, value: 1e8 },
        ],
      },
    ],
  };
}

function usageBatch(): MetricsBatch {
  const pod = { namespace: "shop", pod: "web-1", container: "web" };
  const at = (value: number, ago: number) => ({
    attributes: pod,
    startMs: NOW_MS - 60_000,
    timeMs: NOW_MS - ago,
    value,
  });
  return {
    resource: { "k8s.node.name": "n1" },
    scope: { name: "fuzz" },
    metrics: [
      {
        kind: "sum",
        name: "container_cpu_usage_seconds_total",
        temporality: "cumulative",
        monotonic: true,
        points: [at(10, 20_000), at(12, 1_000)],
      },
      { kind: "gauge", name: "container_memory_working_set_bytes", points: [at(1e8, 1_000)] },
    ],
  };
}

function trafficBatch(): MetricsBatch {
  const attributes = {
    reporter: "source",
    source_workload: "web",
    source_workload_namespace: "shop",
    destination_workload: "db",
    destination_workload_namespace: "shop",
    response_code: "200",
    request_protocol: "http",
  };
  const at = (value: number, ago: number) => ({
    attributes,
    startMs: NOW_MS - 60_000,
    timeMs: NOW_MS - ago,
    value,
  });
  return {
    resource: { "k8s.node.name": "n1" },
    scope: { name: "fuzz" },
    metrics: [
      {
        kind: "sum",
        name: "istio_requests_total",
        temporality: "cumulative",
        monotonic: true,
        points: [at(10, 20_000), at(500, 1_000)],
      },
      {
        kind: "sum",
        name: "istio_request_bytes_sum",
        temporality: "cumulative",
        monotonic: true,
        points: [at(10, 20_000), at(5_000, 1_000)],
      },
    ],
  };
}

/** Batches that our writers never produce: non-monotonic sums, negative gauges. */
function notMonotonic(batch: MetricsBatch): MetricsBatch {
  const metrics = batch.metrics.map((metric) =>
    metric.kind === "sum" ? { ...metric, monotonic: false } : metric,
  );
  return { ...batch, metrics };
}

const HONEST = [probeBatch(), usageBatch(), trafficBatch()];
export const BATCHES = [...HONEST, ...HONEST.map(notMonotonic)];
export const BODIES = HONEST.map((batch) => encodeMetrics(batch));
