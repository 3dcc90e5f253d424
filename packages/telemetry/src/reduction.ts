// What of a scraped family the graphs need. Collectors apply it to each page, which spares the bus most of
// it; the aggregator applies it to what comes unreduced from others. Whoever drops the labels sums rows that
// become equal, within one page only.
import { AGENT_FAMILIES, byteLabelsOf, LINKERD_FAMILIES, SAMPLING_FAMILIES } from "./byte-sources.ts";
import { isNodeInterface } from "./interfaces.ts";

/** Value of a row's label, "" where it has none: to Prometheus both are the same. */
export type LabelLookup = (name: string) => string;

/** A label that is kept. */
export interface KeptLabel {
  readonly name: string;
  /** What it becomes; "" leaves it out. Undefined: it is kept as it is. */
  readonly derive?: (label: LabelLookup) => string;
}

export interface FamilyReduction {
  readonly family: string;
  /** What the family is where a page doesn't say. Of histograms only count and sum are kept. */
  readonly type: "counter" | "gauge" | "histogram";
  /** null: all of them. */
  readonly labels: readonly KeptLabel[] | null;
  /**
   * Rows that become equal are of the same container, which was restarted: the newest counts. Otherwise they
   * are summed.
   */
  readonly isLatest?: true;
  /** False for rows that no graph shows, or that others contain. */
  keeps(label: LabelLookup): boolean;
  /** Only of usage: says more than `keeps`. */
  readonly usageRow?: (label: LabelLookup) => UsageRow;
}

/**
 * Subject of a row of usage. Rows of a pod or node are kept. "part": another row contains it. "unnamed": a
 * pod's container, without the pod's name.
 */
export type UsageRow = "pod" | "node" | "part" | "unnamed";

const always = (): boolean => true;

function kept(...names: readonly string[]): KeptLabel[] {
  return names.map((name): KeptLabel => ({ name }));
}

/**
 * Istio can be told to write classes itself, and writes them like this: "5xx". "0" is Envoy's for a
 * connection that broke before a response.
 */
function responseCodeClass(code: string): string {
  if (/^[1-5](\d\d|xx)$/.test(code)) return `${code[0]}xx`;
  return code === "0" || code === "" ? code : "other";
}

/**
 * Statuses of gRPC that are the server's fault, as OpenTelemetry's conventions have them: UNKNOWN,
 * DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS. Their HTTP code is 200.
 */
const FAILED_GRPC: ReadonlySet<string> = new Set(["2", "4", "12", "13", "14", "15"]);

/**
 * Whether a response counts as an error of a channel.
 * @param code of HTTP, or a class of codes
 * @param grpcStatus "" where it isn't an answer of gRPC
 */
export function isFailedResponse(code: string, grpcStatus: string): boolean {
  const responseClass = responseCodeClass(code);
  return responseClass === "0" || responseClass === "5xx" || FAILED_GRPC.has(grpcStatus);
}

const isFailedRow = (label: LabelLookup): boolean =>
  isFailedResponse(label("response_code"), label("grpc_response_status"));

/** The class says what a status of gRPC says too. */
const RESPONSE_CODE: KeptLabel = {
  name: "response_code",
  derive: (label) => {
    const responseClass = responseCodeClass(label("response_code"));
    return isFailedRow(label) && responseClass !== "0" ? "5xx" : responseClass;
  },
};

/** Labels by which Prometheus, Thanos, Mimir and OpenTelemetry name the cluster that a row is of. */
export const CLUSTER_LABELS = ["cluster", "k8s_cluster_name", "K8S_ClusterName"] as const;

/** The target's cluster is kept where it is another one than the source's. */
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

/**
 * Upper bounds of latency that are kept of Istio's histogram, milliseconds: all of its default ones that a
 * deadline between services can lie at.
 */
export const LATENCY_BOUNDS_MS = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000] as const;
/** The histogram's buckets, each read as a counter of the requests that took no longer than `le`. */
export const LATENCY_BUCKETS = "istio_request_duration_milliseconds_bucket";
/** The bound of the bucket that holds all requests. */
export const ALL_LATENCIES = "+Inf";

/** A bound as text: exporters write 1000 as "1000", "1000.0" or "1e+03". Empty: it is not kept. */
function latencyBound(le: string): string {
  if (le === ALL_LATENCIES) return le;
  const bound = LATENCY_BOUNDS_MS.find((known) => known === Number(le));
  return bound === undefined ? "" : String(bound);
}

/**
 * What callers ask of a service and how long they wait, by the caller's own proxy. Of failed requests only
 * the number is kept: none is in time.
 */
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

/** Only the root cgroup's id says something that is not also in other labels. */
const ROOT_ID: KeptLabel = { name: "id", derive: (label) => (label("id") === "/" ? "/" : "") };

/**
 * Labels of the containers' runtime that a standalone cAdvisor shows. Where Prometheus scrapes it, the plain
 * labels are those of cAdvisor's own pod.
 */
export const RUNTIME_LABELS = {
  namespace: "container_label_io_kubernetes_pod_namespace",
  pod: "container_label_io_kubernetes_pod_name",
  container: "container_label_io_kubernetes_container_name",
} as const;

/** Returns the namespace, pod or container that a row of usage names, "" if none. */
export function podLabel(name: keyof typeof RUNTIME_LABELS, label: LabelLookup): string {
  return label(RUNTIME_LABELS.pod) === "" ? label(name) : label(RUNTIME_LABELS[name]);
}

/**
 * A row of a real container names it; the row of a pod's cgroup has a pod and neither container nor name; the
 * row of the node has the id "/". Pause containers and system slices are parts of one of these. The id, the
 * longest label, is read last: it costs most.
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
  // The runtime's containers have a name or an image, the cgroups around them neither.
  if (id !== "")
    return (label("name") !== "" || label("image") !== "") && id.includes("kubepods") ? "unnamed" : "part";
  const container = label("container");
  return (container === "" ? label("name") === "" : container !== "POD") ? "node" : "part";
}

export function isKeptUsage(row: UsageRow): boolean {
  return row === "pod" || row === "node";
}

const isUsageRow = (label: LabelLookup): boolean => isKeptUsage(usageRow(label));

/** A single core's row: cAdvisor writes these instead of the total, and others beside it. */
const CORES = "cores";
/** Whether the label `cpu` of a row names one core, or all of them summed by us. */
export function isOfCores(cpu: string): boolean {
  return cpu !== "" && cpu !== "total";
}

/** Rows of single cores become one series, beside the total and never added to it. */
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

/** Bytes of network interfaces; what cAdvisor counts for "/" are the node's own. */
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

/**
 * The mode of node_exporter's CPU time that says what is free. That of `iowait` may fall, and belongs to a
 * CPU that waits.
 */
const IDLE = "idle";

/** Whether a series of `node_cpu_seconds_total` says what is free. */
export function isIdleTime(mode: string): boolean {
  return mode === IDLE;
}

/** Which labels name the services depends on how the connector is configured. */
function serviceGraph(family: string, type: "counter" | "histogram"): FamilyReduction {
  return { family, type, labels: null, keeps: always };
}

/** Of who counts bytes beside Istio: what names the ends, and what says what was counted. */
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
  // Of all CPUs together.
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

/**
 * The reduction of a family; undefined where all labels are kept. A histogram's `_sum` and `_count` are of
 * its family.
 */
export function reductionOf(name: string): FamilyReduction | undefined {
  const exact = BY_FAMILY.get(name);
  if (exact !== undefined) return exact;
  const base = BY_FAMILY.get(name.replace(HISTOGRAM_PART, ""));
  return base?.type === "histogram" ? base : undefined;
}
