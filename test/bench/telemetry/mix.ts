// 40 % RTT histograms with 40 buckets, 30 % usage gauges with 4 attributes, 30 % Istio sums with 25 labels.
import { PROBE_METRICS, RESOURCE_ATTRIBUTES, TOPICS, encodeMetrics } from "@isochrone/telemetry";
import type { Attributes, ExponentialHistogramData, Metric } from "@isochrone/telemetry";

interface MixOptions {
  readonly nodes?: number;
  /** Share of workloads replaced by new pods and so new series in each round. @default 0 */
  readonly churnRatio?: number;
  /** Time of round 0. @default 2026-01-01T00:00:00Z */
  readonly startMs?: number;
  /** @default 10000 */
  readonly roundMs?: number;
}

interface MixRecord {
  readonly topic: string;
  readonly key: string;
  readonly value: Uint8Array;
  readonly points: number;
}

export const PEERS_PER_NODE = 40;
const GAUGES_PER_NODE = 30;
const SUMS_PER_NODE = 30;
export const POINTS_PER_NODE = PEERS_PER_NODE + GAUGES_PER_NODE + SUMS_PER_NODE;
const BUCKETS = 40;
const USAGE_METRICS = ["container_memory_working_set_bytes", "container_memory_rss"] as const;
const SCOPE = { name: "isochrone.bench" } as const;
const ZONES = 3;

export function* mixRound(round: number, options: MixOptions = {}): Generator<MixRecord> {
  const { nodes = 1_000, churnRatio = 0, startMs = Date.UTC(2026, 0, 1), roundMs = 10_000 } = options;
  const timeMs = startMs + round * roundMs;
  for (let node = 0; node < nodes; node++) {
    const key = nodeName(node);
    const record = (topic: string, metrics: readonly Metric[], points: number): MixRecord => ({
      topic,
      key,
      value: encodeMetrics({ resource: resourceOf(node), scope: SCOPE, metrics }),
      points,
    });
    const age = (slot: number): number => generation(node * POINTS_PER_NODE + slot, round, churnRatio);
    yield record(TOPICS.probe, [rttMetric(node, nodes, round, timeMs, roundMs)], PEERS_PER_NODE);
    yield record(TOPICS.usage, usageMetrics(node, round, timeMs, age), GAUGES_PER_NODE);
    yield record(TOPICS.traffic, [trafficMetric(node, round, startMs, timeMs, age)], SUMS_PER_NODE);
  }
}

function nodeName(node: number): string {
  return `ip-10-${node >> 8}-${node & 255}-17.eu-central-1.compute.internal`;
}

function resourceOf(node: number): Attributes {
  return {
    [RESOURCE_ATTRIBUTES.serviceName]: "isochrone",
    [RESOURCE_ATTRIBUTES.node]: nodeName(node),
    [RESOURCE_ATTRIBUTES.zone]: `eu-central-1${"abc"[node % ZONES]}`,
    [RESOURCE_ATTRIBUTES.region]: "eu-central-1",
  };
}

/** Each round replaces an equal share of the slots. */
function generation(slot: number, round: number, churnRatio: number): number {
  if (churnRatio === 0) return 0;
  const rounds = Math.round(1 / churnRatio);
  return Math.floor((round + ((Math.imul(slot + 1, 0x9e3779b1) >>> 0) % rounds)) / rounds);
}

function rttMetric(node: number, nodes: number, round: number, timeMs: number, roundMs: number): Metric {
  const points = Array.from({ length: PEERS_PER_NODE }, (_, peer) => ({
    attributes: {
      destination_node: nodeName((node + 1 + peer * 7) % nodes),
      method: "udp_rr",
      ip_family: "ipv4",
    },
    startMs: timeMs - roundMs,
    timeMs,
    data: rttData(node * PEERS_PER_NODE + peer + round),
  }));
  return { name: PROBE_METRICS.rtt, unit: "s", kind: "exponentialHistogram", temporality: "delta", points };
}

/** 40 adjacent buckets from 2^-10 s (about 1 ms), with a hump. */
function rttData(seed: number): ExponentialHistogramData {
  const offset = -640 + (seed % 64);
  const bucketCounts = Array.from(
    { length: BUCKETS },
    (_, i) => 1 + ((seed + i * 7) % 5) + (i > 10 && i < 25 ? 40 : 0),
  );
  const count = bucketCounts.reduce((sum, value) => sum + value, 0);
  const middle = (i: number): number => 2 ** ((offset + i + 0.5) / 64);
  const sum = bucketCounts.reduce((total, value, i) => total + value * middle(i), 0);
  return {
    scale: 6,
    zeroCount: 0,
    offset,
    bucketCounts,
    count,
    sum,
    min: middle(0),
    max: middle(BUCKETS - 1),
  };
}

function usageMetrics(node: number, round: number, timeMs: number, age: (slot: number) => number): Metric[] {
  const pods = GAUGES_PER_NODE / USAGE_METRICS.length;
  return USAGE_METRICS.map((name, kind) => ({
    name,
    unit: "By",
    kind: "gauge",
    points: Array.from({ length: pods }, (_, pod) => ({
      attributes: {
        namespace: `team-${node % 20}`,
        pod: `${workloadName(node, pod)}-${hex(node * 64 + pod, age(pod))}`,
        container: "app",
        image: `registry.example.com/team-${node % 20}/${workloadName(node, pod)}:1.${pod}.0`,
      },
      timeMs,
      value: 5e7 + ((node * 31 + pod * 17 + kind * 7 + round) % 1_000) * 4_096,
    })),
  }));
}

function trafficMetric(
  node: number,
  round: number,
  startMs: number,
  timeMs: number,
  age: (slot: number) => number,
): Metric {
  const points = Array.from({ length: SUMS_PER_NODE }, (_, channel) => ({
    attributes: istioLabels(node, channel, age(channel)),
    startMs: startMs - 60_000,
    timeMs,
    value: (round + 1) * (1_000 + channel * 37),
  }));
  return { name: "istio_requests_total", kind: "sum", temporality: "cumulative", monotonic: true, points };
}

function istioLabels(node: number, channel: number, generation: number): Attributes {
  const source = workloadName(node, channel);
  const target = workloadName(node + 1, channel + 3);
  const namespace = `team-${node % 20}`;
  return {
    reporter: channel % 2 === 0 ? "source" : "destination",
    source_workload: source,
    source_canonical_service: source,
    source_canonical_revision: "v1",
    source_workload_namespace: namespace,
    source_principal: `spiffe://cluster.local/ns/${namespace}/sa/${source}`,
    source_app: source,
    source_version: "v1",
    source_cluster: "Kubernetes",
    destination_workload: target,
    destination_workload_namespace: namespace,
    destination_principal: `spiffe://cluster.local/ns/${namespace}/sa/${target}`,
    destination_app: target,
    destination_version: "v1",
    destination_service: `${target}.${namespace}.svc.cluster.local`,
    destination_canonical_service: target,
    destination_canonical_revision: "v1",
    destination_service_name: target,
    destination_service_namespace: namespace,
    destination_cluster: "Kubernetes",
    request_protocol: "http",
    response_code: channel % 10 === 9 ? "503" : "200",
    response_flags: "-",
    connection_security_policy: "mutual_tls",
    pod: `${source}-${hex(node * 64 + channel, generation)}`,
  };
}

function workloadName(node: number, slot: number): string {
  return `workload-${(node * 13 + slot) % 400}`;
}

/** Like the random part of a pod's name. */
function hex(slot: number, generation: number): string {
  return (Math.imul(slot + 1, 0x9e3779b1) ^ Math.imul(generation, 0x85ebca6b)).toString(16).replace("-", "f");
}
