// Who counts bytes between workloads beside Istio: names, labels and joins of each, as data. Taken from the
// sources of these versions; none of the agents was run here:
// - OBI: open-telemetry/opentelemetry-ebpf-instrumentation v0.12.0 in grafana/beyla@b21b6af
//   vendor/go.opentelemetry.io/obi/pkg/export/attributes/{attr_defs,metric}.go (which attributes by default),
//   pkg/export/prom/prom_net.go, pkg/internal/netolly/ebpf/record_getters.go (direction); Beyla's own prefix:
//   opentelemetry-ebpf-instrumentation@6955b65 pkg/export/attributes/metric.go;
// - NetObserv: network-observability-operator@d438271 (1.11.1) internal/pkg/metrics/predefined_metrics.go
//   (labels, workload_sampling), internal/controller/flp/flp_pipeline_builder.go (prefix),
//   api/flowmetrics/v1alpha1/flowmetric_types.go (Egress is FlowDirection 1 or 2, Ingress 0 or 2);
// - Retina: microsoft/retina@532c5aa (v1.2.6) pkg/module/metrics/{forward,types}.go, pkg/exporter
//   (prefix; a gauge that only grows), pkg/utils/flow_utils.go (direction by observation point);
// - Coroot: coroot/coroot-node-agent@89a16af (v1.9.1) metrics/metrics.go, containers/{container,registry}.go;
// - Linkerd: linkerd/linkerd2-proxy@29637b6 (v2.366.0) linkerd/transport-metrics/src/{lib,report}.rs,
//   linkerd/app/core/src/{metrics,transport/labels}.rs, linkerd/http/metrics/src/requests/report.rs; names of
//   owners: linkerd/linkerd2@b24cd40 (edge-26.8.3) pkg/k8s/labels.go GetPodLabels.
// Cilium has none: the plugins of cilium/cilium@0457444 pkg/hubble/metrics count flows, and no bytes.

import {
  CONNECTION_ATTRIBUTES,
  CONNECTION_METRICS,
  OUTSIDE_ATTRIBUTES,
  OUTSIDE_DIRECTIONS,
} from "./names.ts";

/** How a row names an end of a channel. */
export type EndRule =
  /** By namespace and owner. Rows whose owner is of one of `NO_WORKLOADS` count nothing. */
  | {
      readonly by: "workload";
      readonly namespace: string;
      /** The first of these that the row has. */
      readonly names: readonly string[];
      readonly kind?: string;
    }
  /** By namespace and pod: the record's resource, else labels. */
  | { readonly by: "pod" }
  /** By a container's path, `/k8s/NAMESPACE/POD/CONTAINER`. */
  | { readonly by: "container"; readonly label: string }
  /** By an address, with a port or without. */
  | { readonly by: "address"; readonly label: string }
  /** It is outside of the cluster, and called so. */
  | { readonly by: "outside"; readonly label: string };

/** At which end the row was counted, which says under whose name it is kept: each end counts every byte. */
type SideRule<R extends string> =
  | { readonly by: "one"; readonly reporter: R }
  | {
      readonly by: "label";
      readonly label: string;
      /** By the label's value in lower case. */
      readonly reporters: Readonly<Record<string, R>>;
    }
  /** The node that the page is from is that of one of the ends, by labels or by the ends' pods. */
  | {
      readonly by: "node";
      readonly labels: { readonly source: string; readonly target: string } | null;
      readonly source: R;
      readonly target: R;
    };

/** Who counts, best first; see {@link BYTE_REPORTERS}. */
export type ByteReporter = (typeof BYTE_REPORTERS)[number];

/**
 * The order of trust: a mesh's proxy, the kernel's own counters of each connection, what is counted for each
 * connection by eBPF, then what may be sampled; of each the end that sends first. Never are two added up.
 */
export const BYTE_REPORTERS = [
  "linkerd",
  "conntrack_client",
  "conntrack_server",
  "coroot",
  "obi_sender",
  "obi_receiver",
  "netobserv_sender",
  "netobserv_receiver",
  "retina_sender",
  "retina_receiver",
] as const;

/** One metric of one of them. */
export interface ByteFamily {
  readonly family: string;
  /** What is counted. */
  readonly flow: "bytes" | "requests" | "errors";
  readonly source: EndRule;
  readonly target: EndRule;
  readonly side: SideRule<ByteReporter>;
  /** Rows with other values count something else. */
  readonly where?: Readonly<Record<string, string>>;
  /** A row of an answer names who sent it as its source; the channel is that of the question. */
  readonly answers?: { readonly label: string; readonly request: string; readonly response: string };
  /** The direction of a row whose target is outside of the cluster: each is a channel of its own. */
  readonly outside?: "received" | "sent";
  /** Label with the target's cluster; absent or empty: the row's own. */
  readonly targetCluster?: string;
  /** One of so many packets was counted, as this label says, or the metric with the same labels. */
  readonly sampling?: { readonly label: string; readonly family: string };
  /** The exporter calls the counter a gauge. */
  readonly isGauge?: true;
}

/** Kinds of owners that are no workloads. */
const NO_WORKLOADS: ReadonlySet<string> = new Set(["Service", "Node", "unknown"]);

/** Whether rows may name workloads by an owner of this kind. */
export function isWorkloadKind(kind: string): boolean {
  return kind !== "" && !NO_WORKLOADS.has(kind);
}

/** Whether other rows count the same bytes: those of the pods behind a Service. */
export function repeatsOthers(kind: string): boolean {
  return kind === "Service";
}

function obi(family: string): ByteFamily {
  const end = (side: "src" | "dst"): EndRule => ({
    by: "workload",
    namespace: `k8s_${side}_namespace`,
    names: [`k8s_${side}_owner_name`],
    kind: `k8s_${side}_owner_type`,
  });
  return {
    family,
    flow: "bytes",
    source: end("src"),
    target: end("dst"),
    side: {
      by: "node",
      labels: { source: "k8s_src_node_name", target: "k8s_dst_node_name" },
      source: "obi_sender",
      target: "obi_receiver",
    },
    answers: { label: "direction", request: "request", response: "response" },
  };
}

function netobserv(direction: "egress" | "ingress", reporter: ByteReporter): ByteFamily {
  const end = (side: "Src" | "Dst"): EndRule => ({
    by: "workload",
    namespace: `${side}K8S_Namespace`,
    names: [`${side}K8S_OwnerName`],
    kind: `${side}K8S_OwnerType`,
  });
  return {
    family: `netobserv_workload_${direction}_bytes_total`,
    flow: "bytes",
    source: end("Src"),
    target: end("Dst"),
    side: { by: "one", reporter },
    sampling: { label: "sampling", family: NETOBSERV_SAMPLING },
  };
}

/** Gauge, one of how many packets the agents of NetObserv look at, by the labels of its workload metrics. */
const NETOBSERV_SAMPLING = "netobserv_workload_sampling";

function coroot(direction: "sent" | "received"): ByteFamily {
  return {
    family: `container_net_tcp_bytes_${direction}_total`,
    flow: "bytes",
    source: { by: "container", label: "container_id" },
    target: { by: "address", label: "actual_destination" },
    side: { by: "one", reporter: "coroot" },
    outside: direction,
  };
}

function retinaEnd(side: "source" | "destination"): EndRule {
  return {
    by: "workload",
    namespace: `${side}_namespace`,
    names: [`${side}_workload_name`],
    kind: `${side}_workload_kind`,
  };
}

/** Kinds of owners as Linkerd's control plane names them in `dst_` labels. */
const LINKERD_OWNERS = [
  "dst_deployment",
  "dst_statefulset",
  "dst_daemonset",
  "dst_cronjob",
  "dst_k8s_job",
  "dst_replicaset",
  "dst_replicationcontroller",
];

function linkerd(
  family: string,
  flow: ByteFamily["flow"],
  where: Readonly<Record<string, string>>,
  outside?: ByteFamily["outside"],
): ByteFamily {
  return {
    family,
    flow,
    source: { by: "pod" },
    target: { by: "workload", namespace: "dst_namespace", names: LINKERD_OWNERS },
    targetCluster: "dst_target_cluster",
    side: { by: "one", reporter: "linkerd" },
    where: { direction: "outbound", ...where },
    ...(outside === undefined ? {} : { outside }),
  };
}

/** Linkerd's, of the proxy's own pod: what it sends to others and gets from them. */
export const LINKERD_FAMILIES: readonly ByteFamily[] = [
  linkerd("tcp_write_bytes_total", "bytes", { peer: "dst" }, "sent"),
  linkerd("tcp_read_bytes_total", "bytes", { peer: "dst" }, "received"),
  linkerd("request_total", "requests", {}),
  linkerd("response_total", "errors", { classification: "failure" }),
];

/** Of agents that tell of all pods of their node. */
export const AGENT_FAMILIES: readonly ByteFamily[] = [
  obi("beyla_network_flow_bytes_total"),
  obi("obi_network_flow_bytes_total"),
  netobserv("egress", "netobserv_sender"),
  netobserv("ingress", "netobserv_receiver"),
  {
    family: "networkobservability_adv_forward_bytes",
    flow: "bytes",
    source: retinaEnd("source"),
    target: retinaEnd("destination"),
    side: {
      by: "label",
      label: "direction",
      reporters: { egress: "retina_sender", ingress: "retina_receiver" },
    },
    isGauge: true,
  },
  coroot("sent"),
  coroot("received"),
];

/**
 * Of the collector's own count of connections: what both ends of each have sent, by the kernel's counters.
 * See CONNECTION_METRICS.
 */
export const CONNECTION_FAMILIES: readonly ByteFamily[] = [
  {
    family: CONNECTION_METRICS.bytes,
    flow: "bytes",
    source: { by: "address", label: CONNECTION_ATTRIBUTES.client },
    target: { by: "address", label: CONNECTION_ATTRIBUTES.server },
    side: { by: "node", labels: null, source: "conntrack_client", target: "conntrack_server" },
  },
  {
    family: CONNECTION_METRICS.outsideBytes,
    flow: "bytes",
    source: { by: "address", label: OUTSIDE_ATTRIBUTES.pod },
    target: { by: "outside", label: OUTSIDE_ATTRIBUTES.outside },
    side: { by: "node", labels: null, source: "conntrack_client", target: "conntrack_server" },
    answers: {
      label: OUTSIDE_ATTRIBUTES.direction,
      request: OUTSIDE_DIRECTIONS.sent,
      response: OUTSIDE_DIRECTIONS.received,
    },
  },
];

/** Metrics that say by what others are to be multiplied. */
export const SAMPLING_FAMILIES: readonly string[] = [NETOBSERV_SAMPLING];

/** Labels that are read of a metric; null for one that is none of these. */
export function byteLabelsOf(name: string): readonly string[] | null {
  if (SAMPLING_FAMILIES.includes(name)) {
    const counted = AGENT_FAMILIES.find(({ sampling }) => sampling?.family === name);
    return counted === undefined ? null : [...endLabels(counted.source), ...endLabels(counted.target)];
  }
  const rule = [...LINKERD_FAMILIES, ...AGENT_FAMILIES].find(({ family }) => family === name);
  if (rule === undefined) return null;
  return [
    ...endLabels(rule.source),
    ...endLabels(rule.target),
    ...(rule.targetCluster === undefined ? [] : [rule.targetCluster]),
    ...sideLabels(rule.side),
    ...Object.keys(rule.where ?? {}),
    ...(rule.answers === undefined ? [] : [rule.answers.label]),
    ...(rule.sampling === undefined ? [] : [rule.sampling.label]),
  ];
}

/** Labels that name an end. */
export function endLabels(rule: EndRule): readonly string[] {
  switch (rule.by) {
    case "workload":
      return [rule.namespace, ...rule.names, ...(rule.kind === undefined ? [] : [rule.kind])];
    case "pod":
      return ["namespace", "pod"];
    case "container":
    case "address":
    case "outside":
      return [rule.label];
    default:
      return rule satisfies never;
  }
}

function sideLabels(side: SideRule<ByteReporter>): readonly string[] {
  if (side.by === "label") return [side.label];
  return side.by === "node" && side.labels !== null ? [side.labels.source, side.labels.target] : [];
}
