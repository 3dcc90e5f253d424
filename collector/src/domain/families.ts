// Which families are kept of each kind of page. Lines of all others are passed over.
import {
  AGENT_FAMILIES,
  LATENCY_BUCKETS,
  LINKERD_FAMILIES,
  reductionOf,
  SAMPLING_FAMILIES,
  type FamilyReduction,
} from "@isochrone/telemetry";

/**
 * Kinds of pages. `cadvisor` and `resource` are a kubelet's; `istio` is that of sidecars, gateways, ztunnel
 * and waypoints; `service_graph` that of an OpenTelemetry Collector's service graph connector; `hubble` that
 * of Cilium's Hubble; `node_exporter` that of Prometheus' exporter of a node; `linkerd` that of a proxy of
 * Linkerd; `agent` that of an agent that counts bytes between workloads by eBPF.
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

/** Bytes of network interfaces; what cAdvisor counts for "/" are the node's own. */
const NETWORK_FAMILIES: ReadonlySet<string> = new Set([
  "container_network_receive_bytes_total",
  "container_network_transmit_bytes_total",
]);

/** What a node has to give: idle CPU time since it came up, and memory that is available. */
export const NODE_EXPORTER_FAMILIES = ["node_cpu_seconds_total", "node_memory_MemAvailable_bytes"] as const;

/** Says when the process of the page began to count; read for start times, not published. */
export const PROCESS_START = "process_start_time_seconds";

/** Families by which a kubelet's page says that it lacks something: 1; read, not published. */
export const SCRAPE_ERRORS = ["container_scrape_error", "scrape_error", "resource_scrape_error"] as const;

/** The allow-list: families that graphs are drawn from. */
export const DEFAULT_FAMILIES: Readonly<Record<TargetKind, readonly string[]>> = {
  cadvisor: [
    "container_cpu_usage_seconds_total",
    "container_memory_working_set_bytes",
    ...NETWORK_FAMILIES,
    "machine_cpu_cores",
    "machine_memory_bytes",
  ],
  // Rows of pods are left out: they are the sums of their containers.
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

/**
 * Counters on pages of a kubelet or a node_exporter are those of cgroups, interfaces and CPUs: they are older
 * or younger than the process.
 */
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

/** Whether the counters of such a page began with the process that serves it, or after it. */
export function countsWithItsProcess(kind: TargetKind): boolean {
  return COUNTS_WITH_ITS_PROCESS[kind];
}

/** What is taken from the pages of a target. */
export interface FamilySelection {
  readonly kind: TargetKind;
  /** Families kept beside the default ones, with all their labels and buckets. @default [] */
  readonly more?: readonly string[];
  /** False: every row and label of the families is kept as it is. @default true */
  readonly reduce?: boolean;
}

export interface WantedFamily {
  readonly name: string;
  /** Undefined: all rows, labels and buckets are kept. */
  readonly reduction: FamilyReduction | undefined;
}

export function wantedFamilies({ kind, more = [], reduce = true }: FamilySelection): WantedFamily[] {
  // Buckets are read as counters of the bounds that are kept, or as parts of a histogram that is kept whole.
  const defaults = DEFAULT_FAMILIES[kind].filter((name) => !more.includes(name.replace(/_bucket$/, "")));
  return [...new Set([...defaults, ...more])].map((name) => ({
    name,
    reduction: reduce || name === LATENCY_BUCKETS ? reductionOf(name) : undefined,
  }));
}

/**
 * False for counters that began neither with the process behind the page nor with their first row on it: an
 * interface counts since it came up, a CPU since the node did, and a start that is too late would make all of
 * that a matter of seconds.
 */
export function startIsTold(family: string): boolean {
  return !NETWORK_FAMILIES.has(family) && family !== NODE_EXPORTER_FAMILIES[0];
}
