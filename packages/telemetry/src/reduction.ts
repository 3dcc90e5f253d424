// The rows and labels of scraped families that the graphs need. Collectors reduce each page; the aggregator
// reduces what others send. Dropping labels sums rows that become equal, within one page.
import { AGENT_FAMILIES, byteLabelsOf, LINKERD_FAMILIES, SAMPLING_FAMILIES } from "./byte-sources.ts";
import { isNodeInterface } from "./interfaces.ts";

/** Returns "" for an absent label: Prometheus treats both alike. */
export type LabelLookup = (name: string) => string;

export interface KeptLabel {
  readonly name: string;
  /** Derives the label's value; "" drops it. Undefined: the value is unchanged. */
  readonly derive?: (label: LabelLookup) => string;
}

export interface FamilyReduction {
  readonly family: string;
  /** Type of the family if the page doesn't say. Histograms keep only count and sum. */
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly KeptLabel[] | null;
  /** Equal rows belong to restarts of one container: keep the newest. Otherwise they are summed. */
  readonly isLatest?: true;
  /** Whether a row is kept: false if no graph shows it, or another row contains it. */
  keeps(label: LabelLookup): boolean;
  /** Kind of a usage row; more specific than `keeps`. */
  readonly usageRow?: (label: LabelLookup) => UsageRow;
}

/**
 * "pod" and "node" rows are kept. "part": contained in another row. "unnamed": a container without its pod's
 * name.
 */
export type UsageRow = "pod" | "node" | "part" | "unnamed";

const always = (): boolean => true;

function kept(...names: readonly string[]): KeptLabel[] {
  return names.map((name): KeptLabel => ({ name }));
}

/** Istio can write classes like "5xx" itself. "0" is Envoy's for a connection broken before a response. */
function responseCodeClass(code: string): string {
  if (/^[1-5](\d\d|xx)$/.test(code)) return `${code[0]}xx`;
  return code === "0" || code === "" ? code : "other";
}

/**
 * gRPC statuses that are server errors by OpenTelemetry's conventions: UNKNOWN, DEADLINE_EXCEEDED,
 * UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS. Their HTTP code is 200.
 */
const FAILED_GRPC: ReadonlySet<string> = new Set(["2", "4", "12", "13", "14", "15"]);

/** @param code HTTP code or class @param grpcStatus "": not gRPC */
export function isFailedResponse(code: string, grpcStatus: string): boolean {
  const responseClass = responseCodeClass(code);
  return responseClass === "0" || responseClass === "5xx" || FAILED_GRPC.has(grpcStatus);
}

const isFailedRow = (label: LabelLookup): boolean =>
  isFailedResponse(label("response_code"), label("grpc_response_status"));

/** Response class, which includes the gRPC status. */
const RESPONSE_CODE: KeptLabel = {
  name: "response_code",
  derive: (label) => {
    const responseClass = responseCodeClass(label("response_code"));
    return isFailedRow(label) && responseClass !== "0" ? "5xx" : responseClass;
  },
};

export const CLUSTER_LABELS = ["cluster", "k8s_cluster_name", "K8S_ClusterName"] as const;

/** Keeps the target's cluster only if it differs from the source's. */
const CLUSTERS: readonly KeptLabel[] = [
  { name: "source_cluster" },
  {
    name: "destination_cluster",
    derive: (label) => {
      const cluster = label("destination_cluster");
      return cluster === label("source_cluster") ? "" : cluster;
    },
  },
  ...kept(...CLUSTER_LABELS),
];

const CHANNEL: readonly KeptLabel[] = [
  ...kept(
    "reporter",
    "source_workload",
    "source_workload_namespace",
    "destination_workload",
    "destination_workload_namespace",
  ),
  ...CLUSTERS,
];

function istio(
  family: string,
  type: "counter" | "histogram",
  more: readonly KeptLabel[] = [],
): FamilyReduction {
  return { family, type, labels: [...CHANNEL, ...more], keeps: always };
}

/** Upper bounds kept of Istio's histogram, milliseconds: the defaults that suit deadlines. */
export const LATENCY_BOUNDS_MS = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000] as const;
/** Buckets of the histogram, each read as a counter of requests up to `le`. */
export const LATENCY_BUCKETS = "istio_request_duration_milliseconds_bucket";
export const ALL_LATENCIES = "+Inf";

/** Normalizes "1000", "1000.0" or "1e+03". Empty: dropped. */
function latencyBound(le: string): string {
  if (le === ALL_LATENCIES) return le;
  const bound = LATENCY_BOUNDS_MS.find((known) => known === Number(le));
  return bound === undefined ? "" : String(bound);
}

const LATENCY: FamilyReduction = {
  family: LATENCY_BUCKETS,
  type: "counter",
  labels: [
    ...kept(
      "reporter",
      "source_workload",
      "source_workload_namespace",
      "destination_service_name",
      "destination_service_namespace",
    ),
    ...CLUSTERS,
    {
      name: "response_code",
      derive: (label) => (isFailedRow(label) ? "5xx" : ""),
    },
    { name: "le", derive: (label) => latencyBound(label("le")) },
  ],
  keeps: (label) => {
    if (label("reporter") !== "source") return false;
    const bound = latencyBound(label("le"));
    return bound === ALL_LATENCIES || (bound !== "" && !isFailedRow(label));
  },
};

/** Label `id`, kept only for the root cgroup, where it adds information. */
const ROOT_ID: KeptLabel = { name: "id", derive: (label) => (label("id") === "/" ? "/" : "") };

export const RUNTIME_LABELS = {
  namespace: "container_label_io_kubernetes_pod_namespace",
  pod: "container_label_io_kubernetes_pod_name",
  container: "container_label_io_kubernetes_container_name",
} as const;

/** Namespace, pod or container of a usage row; "" if it names none. */
export function podLabel(name: keyof typeof RUNTIME_LABELS, label: LabelLookup): string {
  return label(RUNTIME_LABELS.pod) === "" ? label(name) : label(RUNTIME_LABELS[name]);
}

/**
 * A container's row names it; a pod's cgroup has a pod without container and name; the node's id is "/".
 * Reads the id, the longest label, last.
 */
function usageRow(label: LabelLookup): UsageRow {
  const isOfRuntime = label(RUNTIME_LABELS.pod) !== "";
  if (isOfRuntime || label("pod") !== "") {
    const container = label(isOfRuntime ? RUNTIME_LABELS.container : "container");
    const isKept = container === "" ? label("name") === "" : container !== "POD";
    return isKept ? "pod" : "part";
  }
  const id = label("id");
  if (id === "/") return "node";
  // Runtime containers have a name or an image, their cgroups neither.
  if (id !== "")
    return (label("name") !== "" || label("image") !== "") && id.includes("kubepods") ? "unnamed" : "part";
  const container = label("container");
  return (container === "" ? label("name") === "" : container !== "POD") ? "node" : "part";
}

export function isKeptUsage(row: UsageRow): boolean {
  return row === "pod" || row === "node";
}

const isUsageRow = (label: LabelLookup): boolean => isKeptUsage(usageRow(label));

/** cAdvisor writes per-core rows instead of the total, or in addition. */
const CORES = "cores";
export function isOfCores(cpu: string): boolean {
  return cpu !== "" && cpu !== "total";
}

/** Per-core rows form one series, never added to the total. */
const OF_CORES: KeptLabel = { name: "cpu", derive: (label) => (isOfCores(label("cpu")) ? CORES : "") };

const OF_POD = (["namespace", "pod", "container"] as const).map((name): KeptLabel => ({
  name,
  derive: (label) => podLabel(name, label),
}));

function usage(family: string, type: "counter" | "gauge"): FamilyReduction {
  return {
    family,
    type,
    labels: [ROOT_ID, ...OF_POD, ...kept(...CLUSTER_LABELS), OF_CORES],
    keeps: isUsageRow,
    usageRow,
  };
}

function network(family: string): FamilyReduction {
  return {
    family,
    type: "counter",
    labels: kept("id", "interface", ...CLUSTER_LABELS),
    keeps: (label) => label("id") === "/" && isNodeInterface(label("interface")),
  };
}

function ofNode(family: string, type: "counter" | "gauge"): FamilyReduction {
  return { family, type, labels: kept(...CLUSTER_LABELS), keeps: always };
}

/** The idle mode of node_exporter. `iowait` may fall, and belongs to a waiting CPU. */
const IDLE = "idle";

export function isIdleTime(mode: string): boolean {
  return mode === IDLE;
}

/** Keeps all labels: the connector's configuration decides which ones name services. */
function serviceGraph(family: string, type: "counter" | "histogram"): FamilyReduction {
  return { family, type, labels: null, keeps: always };
}

function byteSource(family: string, type: "counter" | "gauge"): FamilyReduction {
  return { family, type, labels: kept(...new Set(byteLabelsOf(family)), ...CLUSTER_LABELS), keeps: always };
}

const TABLE: readonly FamilyReduction[] = [
  usage("container_cpu_usage_seconds_total", "counter"),
  { ...usage("container_memory_working_set_bytes", "gauge"), isLatest: true },
  network("container_network_receive_bytes_total"),
  network("container_network_transmit_bytes_total"),
  ofNode("machine_cpu_cores", "gauge"),
  ofNode("machine_memory_bytes", "gauge"),
  ofNode("node_cpu_usage_seconds_total", "counter"),
  ofNode("node_memory_working_set_bytes", "gauge"),
  {
    family: "node_cpu_seconds_total",
    type: "counter",
    labels: kept("mode", ...CLUSTER_LABELS),
    keeps: (label) => isIdleTime(label("mode")),
  },
  ofNode("node_memory_MemAvailable_bytes", "gauge"),
  istio("istio_requests_total", "counter", [RESPONSE_CODE]),
  istio("istio_request_bytes", "histogram"),
  istio("istio_response_bytes", "histogram"),
  istio("istio_tcp_sent_bytes_total", "counter"),
  istio("istio_tcp_received_bytes_total", "counter"),
  LATENCY,
  serviceGraph("traces_service_graph_request_total", "counter"),
  serviceGraph("traces_service_graph_request_failed_total", "counter"),
  serviceGraph("traces_service_graph_request_client_seconds", "histogram"),
  serviceGraph("traces_service_graph_request_server_seconds", "histogram"),
  ...[...AGENT_FAMILIES, ...LINKERD_FAMILIES].map(({ family }) => byteSource(family, "counter")),
  ...SAMPLING_FAMILIES.map((family) => byteSource(family, "gauge")),
];

const BY_FAMILY: ReadonlyMap<string, FamilyReduction> = new Map(TABLE.map((rule) => [rule.family, rule]));
const HISTOGRAM_PART = /_(sum|count)$/;

/** Reduction of a family. Undefined: keep all labels. `_sum` and `_count` belong to the histogram. */
export function reductionOf(name: string): FamilyReduction | undefined {
  const exact = BY_FAMILY.get(name);
  if (exact !== undefined) return exact;
  const base = BY_FAMILY.get(name.replace(HISTOGRAM_PART, ""));
  return base?.type === "histogram" ? base : undefined;
}
