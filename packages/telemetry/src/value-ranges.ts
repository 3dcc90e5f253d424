// Plausible values per metric. Others are refused on entry, so no window or graph contains them.
import { AGENT_FAMILIES, LINKERD_FAMILIES, SAMPLING_FAMILIES } from "./byte-sources.ts";
import { CONNECTION_METRICS, FLOW_METRICS, NODE_METRICS, PROBE_METRICS } from "./names.ts";

/** For histograms: limits of the sum, and of each value by minimum and maximum. */
export interface ValueRange {
  readonly min: number;
  readonly max: number;
  readonly maxCount: number;
  readonly monotonic: boolean;
}

/** Larger numbers are garbage: 1e18 bytes are an exabyte, 1e18 seconds twice the age of the universe. */
const ABSURD = 1e18;
/** Maximum round trip in seconds. Probes wait a few seconds at most. */
export const MAX_RTT_SECONDS = 60;
/** Maximum packets, transactions or bursts per point. A probe sends a few per second. */
const MAX_PACKETS = 1e9;
/** Maximum CPU-seconds: 10,000 cores for 30 years. */
const MAX_CPU_SECONDS = 1e13;
/** Maximum cores of a node or pod. */
const MAX_CORES = 1e6;
/** Maximum memory, a petabyte. */
const MAX_MEMORY_BYTES = 1e15;
const MAX_REQUESTS = 1e15;
const MAX_SAMPLING = 1e6;

/** Range of metrics that no graph uses. */
const ANY: ValueRange = { min: -ABSURD, max: ABSURD, maxCount: ABSURD, monotonic: false };

function counter(max: number): ValueRange {
  return { min: 0, max, maxCount: max, monotonic: true };
}

function gauge(max: number): ValueRange {
  return { min: 0, max, maxCount: max, monotonic: false };
}

const TABLE: Readonly<Record<string, ValueRange>> = {
  [PROBE_METRICS.rtt]: { min: 0, max: MAX_RTT_SECONDS, maxCount: MAX_PACKETS, monotonic: false },
  [PROBE_METRICS.rttVariation]: counter(MAX_RTT_SECONDS * MAX_PACKETS),
  [PROBE_METRICS.rttVariationCount]: counter(MAX_PACKETS),
  [PROBE_METRICS.packets]: counter(MAX_PACKETS),
  // The tables count implausible rates in their own metric.
  [NODE_METRICS.network]: counter(ABSURD),
  [PROBE_METRICS.bandwidth]: gauge(ABSURD),
  [PROBE_METRICS.bandwidthTests]: counter(MAX_PACKETS),
  [PROBE_METRICS.bandwidthBytes]: counter(ABSURD),
  [FLOW_METRICS.allowed]: gauge(ABSURD),
  [FLOW_METRICS.sent]: counter(ABSURD),
  [FLOW_METRICS.dropped]: counter(ABSURD),
  [CONNECTION_METRICS.bytes]: counter(ABSURD),
  container_cpu_usage_seconds_total: counter(MAX_CPU_SECONDS),
  node_cpu_usage_seconds_total: counter(MAX_CPU_SECONDS),
  node_cpu_seconds_total: counter(MAX_CPU_SECONDS),
  "k8s.node.cpu.time": counter(MAX_CPU_SECONDS),
  "k8s.pod.cpu.time": counter(MAX_CPU_SECONDS),
  "container.cpu.time": counter(MAX_CPU_SECONDS),
  "k8s.node.cpu.usage": gauge(MAX_CORES),
  "k8s.pod.cpu.usage": gauge(MAX_CORES),
  container_memory_working_set_bytes: gauge(MAX_MEMORY_BYTES),
  node_memory_working_set_bytes: gauge(MAX_MEMORY_BYTES),
  node_memory_MemAvailable_bytes: gauge(MAX_MEMORY_BYTES),
  "k8s.node.memory.working_set": gauge(MAX_MEMORY_BYTES),
  "k8s.pod.memory.working_set": gauge(MAX_MEMORY_BYTES),
  "container.memory.working_set": gauge(MAX_MEMORY_BYTES),
  container_network_receive_bytes_total: counter(ABSURD),
  container_network_transmit_bytes_total: counter(ABSURD),
  "k8s.node.network.io": counter(ABSURD),
  istio_requests_total: counter(MAX_REQUESTS),
  istio_request_bytes: counter(ABSURD),
  istio_request_bytes_sum: counter(ABSURD),
  istio_response_bytes: counter(ABSURD),
  istio_response_bytes_sum: counter(ABSURD),
  istio_tcp_sent_bytes_total: counter(ABSURD),
  istio_tcp_received_bytes_total: counter(ABSURD),
  traces_service_graph_request_total: counter(MAX_REQUESTS),
  traces_service_graph_request_failed_total: counter(MAX_REQUESTS),
  hubble_http_requests_total: counter(MAX_REQUESTS),
  hubble_http_responses_total: counter(MAX_REQUESTS),
  hubble_flows_processed_total: counter(MAX_REQUESTS),
  ...Object.fromEntries(
    [...AGENT_FAMILIES, ...LINKERD_FAMILIES].map(({ family, flow }) => [
      family,
      counter(flow === "bytes" ? ABSURD : MAX_REQUESTS),
    ]),
  ),
  ...Object.fromEntries(SAMPLING_FAMILIES.map((family) => [family, gauge(MAX_SAMPLING)])),
};

const BY_NAME: ReadonlyMap<string, ValueRange> = new Map(Object.entries(TABLE));

export const RANGED_METRICS: readonly string[] = [...BY_NAME.keys()];

/** The range of a metric's values. */
export function valueRangeOf(name: string): ValueRange {
  return BY_NAME.get(name) ?? ANY;
}

export function sumRangeOf(name: string): ValueRange {
  return { ...valueRangeOf(name), max: ABSURD, maxCount: ABSURD };
}
