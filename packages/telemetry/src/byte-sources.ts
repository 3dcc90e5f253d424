// Byte counters of exporters other than Istio. Read from their sources, not run here:
// opentelemetry-ebpf-instrumentation v0.12.0 (in grafana/beyla@b21b6af, pkg/export/attributes,
// pkg/export/prom/prom_net.go, pkg/internal/netolly/ebpf), network-observability-operator@d438271 1.11.1
// (internal/pkg/metrics/predefined_metrics.go, internal/controller/flp, api/flowmetrics/v1alpha1),
// microsoft/retina@532c5aa v1.2.6 (pkg/module/metrics, pkg/exporter, pkg/utils/flow_utils.go),
// coroot-node-agent@89a16af v1.9.1 (metrics, containers), linkerd2-proxy@29637b6 v2.366.0
// (linkerd/transport-metrics, linkerd/app/core, linkerd/http/metrics), linkerd2@b24cd40 (pkg/k8s/labels.go).
// Cilium's Hubble metrics (cilium@0457444) count flows, not bytes.

import {
  CONNECTION_ATTRIBUTES,
  CONNECTION_METRICS,
  OUTSIDE_ATTRIBUTES,
  OUTSIDE_DIRECTIONS,
} from "./names.ts";

export type EndRule =
  /** Identified by namespace and owner. Ignores rows whose owner is one of `NO_WORKLOADS`. */
  | {
      readonly by: "workload";
      readonly namespace: string;
      readonly names: readonly string[];
      readonly kind?: string;
    }
  /** Identified by namespace and pod, from the record's resource, else from labels. */
  | { readonly by: "pod" }
  /** Identified by a container's path, `/k8s/NAMESPACE/POD/CONTAINER`. */
  | { readonly by: "container"; readonly label: string }
  | { readonly by: "address"; readonly label: string }
  /** An end outside the cluster, named by the label. */
  | { readonly by: "outside"; readonly label: string };

/** The end that counted the row. Both ends count every byte, so they must not be added up. */
type SideRule<R extends string> =
  | { readonly by: "one"; readonly reporter: R }
  | {
      readonly by: "label";
      readonly label: string;
      readonly reporters: Readonly<Record<string, R>>;
    }
  /** Counted at the page's node, which is one end's: by labels, or by the ends' pods. */
  | {
      readonly by: "node";
      readonly labels: { readonly source: string; readonly target: string } | null;
      readonly source: R;
      readonly target: R;
    };

/** A source of byte counts; see {@link BYTE_REPORTERS}. */
export type ByteReporter = (typeof BYTE_REPORTERS)[number];

/**
 * In order of trust: mesh proxies, the kernel's connection counters, eBPF counters, then possibly sampled
 * ones; senders first. Never added up.
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

export interface ByteFamily {
  readonly family: string;
  readonly flow: "bytes" | "requests" | "errors";
  readonly source: EndRule;
  readonly target: EndRule;
  readonly side: SideRule<ByteReporter>;
  readonly where?: Readonly<Record<string, string>>;
  /** A row of a response names its sender as source; the channel is the request's. */
  readonly answers?: { readonly label: string; readonly request: string; readonly response: string };
  /** Direction of rows whose target is outside the cluster. Each direction is a channel. */
  readonly outside?: "received" | "sent";
  /** Label with the target's cluster. Absent or empty: the row's own cluster. */
  readonly targetCluster?: string;
  /** Sampling rate (one of n packets): a label, or another metric with the same labels. */
  readonly sampling?: { readonly label: string; readonly family: string };
  /** The exporter declares the counter a gauge. */
  readonly isGauge?: true;
}

const NO_WORKLOADS: ReadonlySet<string> = new Set(["Service", "Node", "unknown"]);

export function isWorkloadKind(kind: string): boolean {
  return kind !== "" && !NO_WORKLOADS.has(kind);
}

/** Whether the rows repeat bytes counted elsewhere: a Service repeats its pods. */
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

/** Gauge: NetObserv samples one of this many packets, by the labels of its workload metrics. */
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

export const LINKERD_FAMILIES: readonly ByteFamily[] = [
  linkerd("tcp_write_bytes_total", "bytes", { peer: "dst" }, "sent"),
  linkerd("tcp_read_bytes_total", "bytes", { peer: "dst" }, "received"),
  linkerd("request_total", "requests", {}),
  linkerd("response_total", "errors", { classification: "failure" }),
];

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

/** The collector's connection tracking: bytes of both ends by kernel counters, see CONNECTION_METRICS. */
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

export const SAMPLING_FAMILIES: readonly string[] = [NETOBSERV_SAMPLING];

/** Returns the labels that a metric needs. Null: not a byte metric. */
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
