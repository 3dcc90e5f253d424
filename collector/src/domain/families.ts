import {
  AGENT_FAMILIES,
  LATENCY_BUCKETS,
  LINKERD_FAMILIES,
  reductionOf,
  SAMPLING_FAMILIES,
  type FamilyReduction,
} from "@isochrone/telemetry";

/**
 * `cadvisor`, `resource`: a kubelet. `istio`: sidecars, gateways, ztunnel, waypoints. `service_graph`: the
 * OpenTelemetry Collector's connector. `hubble`: Cilium. `node_exporter`: Prometheus' node exporter.
 * `linkerd`: a Linkerd proxy. `agent`: an eBPF agent that counts bytes between workloads.
 */
export const TARGET_KINDS = [
  "cadvisor",
  "resource",
  "node_exporter",
  "istio",
  "service_graph",
  "hubble",
  "linkerd",
  "agent",
] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

/** Bytes of network interfaces; cAdvisor's row for "/" is the node's. */
const NETWORK_FAMILIES: ReadonlySet<string> = new Set([
  "container_network_receive_bytes_total",
  "container_network_transmit_bytes_total",
]);

/** Free capacity of a node: idle CPU time since boot, available memory. */
export const NODE_EXPORTER_FAMILIES = ["node_cpu_seconds_total", "node_memory_MemAvailable_bytes"] as const;

/** Start of the page's process; read for start times, not published. */
export const PROCESS_START = "process_start_time_seconds";

/** Families with which a kubelet reports (by 1) that its page is incomplete; read, not published. */
export const SCRAPE_ERRORS = ["container_scrape_error", "scrape_error", "resource_scrape_error"] as const;

export const DEFAULT_FAMILIES: Readonly<Record<TargetKind, readonly string[]>> = {
  cadvisor: [
    "container_cpu_usage_seconds_total",
    "container_memory_working_set_bytes",
    ...NETWORK_FAMILIES,
    "machine_cpu_cores",
    "machine_memory_bytes",
  ],
  // Without pods' rows, which are sums of their containers.
  resource: [
    "container_cpu_usage_seconds_total",
    "container_memory_working_set_bytes",
    "node_cpu_usage_seconds_total",
    "node_memory_working_set_bytes",
  ],
  node_exporter: [...NODE_EXPORTER_FAMILIES],
  istio: [
    "istio_requests_total",
    "istio_request_bytes",
    "istio_response_bytes",
    "istio_tcp_sent_bytes_total",
    "istio_tcp_received_bytes_total",
    LATENCY_BUCKETS,
  ],
  service_graph: [
    "traces_service_graph_request_total",
    "traces_service_graph_request_failed_total",
    "traces_service_graph_request_client_seconds",
    "traces_service_graph_request_server_seconds",
  ],
  hubble: ["hubble_flows_processed_total", "hubble_http_requests_total", "hubble_http_responses_total"],
  linkerd: LINKERD_FAMILIES.map(({ family }) => family),
  agent: [...AGENT_FAMILIES.map(({ family }) => family), ...SAMPLING_FAMILIES],
};

/** A kubelet's and node_exporter's counters belong to cgroups, interfaces and CPUs, not to the process. */
const COUNTS_WITH_ITS_PROCESS: Readonly<Record<TargetKind, boolean>> = {
  cadvisor: false,
  resource: false,
  node_exporter: false,
  istio: true,
  service_graph: true,
  hubble: true,
  linkerd: true,
  agent: true,
};

/** True if the page's counters began with its process or later. */
export function countsWithItsProcess(kind: TargetKind): boolean {
  return COUNTS_WITH_ITS_PROCESS[kind];
}

export interface FamilySelection {
  readonly kind: TargetKind;
  /** Further families, kept with all labels and buckets. @default [] */
  readonly more?: readonly string[];
  readonly reduce?: boolean;
}

export interface WantedFamily {
  readonly name: string;
  readonly reduction: FamilyReduction | undefined;
}

export function wantedFamilies({ kind, more = [], reduce = true }: FamilySelection): WantedFamily[] {
  // Buckets are counters per kept bound, or parts of a fully kept histogram.
  const defaults = DEFAULT_FAMILIES[kind].filter((name) => !more.includes(name.replace(/_bucket$/, "")));
  return [...new Set([...defaults, ...more])].map((name) => ({
    name,
    reduction: reduce || name === LATENCY_BUCKETS ? reductionOf(name) : undefined,
  }));
}

/** False for counters that predate process and first row: a late start would inflate their rate. */
export function startIsTold(family: string): boolean {
  return !NETWORK_FAMILIES.has(family) && family !== NODE_EXPORTER_FAMILIES[0];
}
