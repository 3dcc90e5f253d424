// What each metric that the graphs are drawn from may say. One table: a value outside of it is refused where
// it enters, so that no window, and no graph, ever holds it.
import { AGENT_FAMILIES, LINKERD_FAMILIES, SAMPLING_FAMILIES } from "./byte-sources.ts";
import { CONNECTION_METRICS, FLOW_METRICS, NODE_METRICS, PROBE_METRICS } from "./names.ts";

/** Limits of a metric's values. Of a histogram: of its sum, and of each value by its minimum and maximum. */
export interface ValueRange {
  readonly min: number;
  readonly max: number;
  /** A histogram point with more samples is refused. */
  readonly maxCount: number;
  /** A sum must be monotonic: what it counts can't be taken back. */
  readonly monotonic: boolean;
}

/**
 * 1e18 bytes are an exabyte, 1e18 seconds twice the age of the universe: beyond it a number is garbage
 * whatever it counts.
 */
const ABSURD = 1e18;
/** Seconds. Probes wait a few seconds for an answer at most. */
export const MAX_RTT_SECONDS = 60;
/** Packets, transactions or bursts of one point. A probe sends a few per second. */
const MAX_PACKETS = 1e9;
/** CPU-seconds: 10,000 cores for 30 years. */
const MAX_CPU_SECONDS = 1e13;
/** Cores of one node or pod. */
const MAX_CORES = 1e6;
/** A petabyte. */
const MAX_MEMORY_BYTES = 1e15;
/** Requests, flows or responses since a counter began. */
const MAX_REQUESTS = 1e15;
/** One of so many packets. */
const MAX_SAMPLING = 1e6;

/** Of metrics that nothing here is drawn from. */
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
  // The tables count rates that no burst can have had by a metric of their own.
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

/** Names of the metrics that have a range of their own. */
export const RANGED_METRICS: readonly string[] = [...BY_NAME.keys()];

/** The range of a metric's values. */
export function valueRangeOf(name: string): ValueRange {
  return BY_NAME.get(name) ?? ANY;
}

/** The range of sums over any number of a metric's points. */
export function sumRangeOf(name: string): ValueRange {
  return { ...valueRangeOf(name), max: ABSURD, maxCount: ABSURD };
}
