import {
  AGGREGATOR_CLIENT_SETTINGS,
  aggregatorClientRule,
  constant,
  derived,
  duration,
  flag,
  integer,
  list,
  oneOf,
  section,
  text,
  type SettingsOf,
} from "@isochrone/runtime";
import { STATIC_TARGET, staticTargetsRule } from "./adapters/static-targets.ts";
import type { KubeletPage } from "./discovery/kubelet.ts";
import type { BufferBounds } from "./domain/buffer-limits.ts";
import { POD_TARGET } from "./discovery/pod-targets.ts";
import { ACCOUNT } from "./discovery/trusted.ts";
import { TARGET_KINDS } from "./ports/ports.ts";
import { prometheusFields, prometheusRules, type PrometheusBounds } from "./prometheus/settings.ts";
import { trustFields } from "./trust-settings.ts";

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Names that were settings of the collector once. */
const RETIRED = [
  "bufferBytes",
  "bufferMaxAgeMs",
  "catchUpRecordsPerSecond",
  "concurrency",
  "extraFamilies",
  "kubeletIntervalMs",
  "kubeletPages",
  "kubeletTimeoutMs",
  "maxBackoffRounds",
  "maxKeptBytes",
  "maxPageBytes",
  "maxRoundBytes",
  "maxSamplesPerPage",
  "maxSeriesPerPod",
  "maxTargets",
  "outsideFile",
  "prometheusCatchUpMs",
  "prometheusCluster",
  "prometheusClusterLabel",
  "prometheusMaxResponseBytes",
  "prometheusMaxSeries",
  "prometheusServiceGraphs",
  "prometheusTimeoutMs",
  "prometheusUsageMatchers",
  "sidecarPage",
];
/** Kinds of pages that discovery finds beside the kubelet's. */
const DISCOVERABLE = ["istio", "linkerd", "hubble"] as const;

/**
 * Sources of figures: the pages of the own node, a Prometheus that has scraped all, or the connections
 * that the own node's kernel tracks.
 */
const COLLECTOR_MODES = ["node", "prometheus", "connections"] as const;

/** Everything the collector can be told. */
export const collectorSettings = section(
  "collector",
  {
    mode: oneOf(COLLECTOR_MODES, {
      default: "node",
      description:
        "node: scrape the pages of the own node (a DaemonSet); prometheus: ask a Prometheus (one process); connections: count what the own node's kernel tracks of connections (a DaemonSet of its own).",
    }),
    node: text({
      default: "",
      minLength: 0,
      description: "Name of the node whose pages are scraped; a DaemonSet passes spec.nodeName.",
    }),
    intervalMs: duration({ default: 10_000, min: 100, description: "How often every page is scraped." }),
    timeoutMs: derived(
      ({ intervalMs }: { readonly intervalMs: number }) => Math.min(5_000, intervalMs / 2),
      "It is half of collector.intervalMs, at most five seconds.",
    ),
    reduce: constant(true, "Without it, records are larger and the graphs are the same."),
    staticTargets: list({
      default: [],
      pattern: STATIC_TARGET,
      patternRule: `must hold only kind=url with kind one of ${TARGET_KINDS.join(", ")}`,
      description:
        "Pages to scrape beside the discovered ones, each as kind=url; kind is cadvisor, resource, node_exporter, istio, service_graph, hubble, linkerd or agent.",
    }),
    podTargets: list({
      default: [],
      pattern: POD_TARGET,
      patternRule: `must hold only kind=namespace/label=value:port/path with kind one of ${TARGET_KINDS.join(", ")}`,
      description:
        "Pages of pods of this node, found by label, each as kind=namespace/label=value:port/path (path /metrics if there is none). Namespace * for any, of istio alone: such a page tells of its own pod.",
    }),
    discover: list({
      default: DISCOVERABLE,
      pattern: /istio|linkerd|hubble/,
      patternRule: "must hold only istio, linkerd and hubble",
      description: "Pages of pods that are found by themselves; none: an empty list.",
    }),
    proxyAccounts: list({
      default: ["*/*"],
      pattern: ACCOUNT,
      patternRule: "must hold only namespace/service-account, either of them * for any",
      description:
        "Service accounts of pods whose Istio and Linkerd proxies are read. Whoever is read tells of channels that its own pod is an end of, and of no others.",
    }),
    ...trustFields,
    addressFamily: oneOf(["primary", "ipv4", "ipv6"], {
      default: "primary",
      description:
        "Which address of a dual-stack node or pod is used; primary is the one that Kubernetes names first.",
    }),
    nodeAddress: text({
      default: "",
      minLength: 0,
      pattern: /[\w.:-]*/,
      patternRule: "must be an address or a host name",
      description:
        "Address of the node's kubelet; a DaemonSet passes status.hostIP. Without it the address is read from the Node object, where there is access to the API server.",
    }),
    kubeletPort: integer({
      default: 10_250,
      min: 1,
      max: 65_535,
      description: "Port of the kubelet at collector.nodeAddress.",
    }),
    kubeletCaFile: text({
      default: `${SERVICE_ACCOUNT}/ca.crt`,
      minLength: 0,
      description:
        "File (PEM) with the authorities that sign the kubelets' serving certificates, read anew when it changes; empty: the system's authorities.",
    }),
    kubeletTokenFile: text({
      default: `${SERVICE_ACCOUNT}/token`,
      minLength: 0,
      description: "File with the token that kubelets get, read for every scrape; empty: none is sent.",
    }),
    kubeletServerName: text({
      default: "",
      minLength: 0,
      description:
        "Name that the kubelet's certificate must carry, {node} standing for the node's name; empty: the address that is connected to.",
    }),
    kubeletInsecureSkipVerify: flag({
      default: false,
      description:
        "Believe any certificate of a kubelet. Whoever answers at its address then gets the token; for clusters whose kubelets sign their own.",
    }),
    ...AGGREGATOR_CLIENT_SETTINGS,
    host: text({
      default: "0.0.0.0",
      description: "Address of the collector's own /metrics, /healthz and /readyz.",
    }),
    port: integer({ default: 9102, min: 0, max: 65_535, description: "Port of the collector's own pages." }),
    ...prometheusFields,
  },
  {
    retired: RETIRED,
    rules: [
      aggregatorClientRule("collector"),
      ({ staticTargets }) => staticTargetsRule(staticTargets),
      ({ mode, node }) =>
        mode === "prometheus" || node !== ""
          ? null
          : `collector.node must be given in the mode "${mode}" (a DaemonSet passes spec.nodeName), got ""`,
      ({ mode, ...values }) =>
        mode !== "prometheus"
          ? null
          : (prometheusRules.map((rule) => rule(values)).find((mistake) => mistake !== null) ?? null),
    ],
  },
);

/** Bounds that have their value where they are used. Tests pass smaller ones. */
interface CollectorBounds {
  readonly concurrency?: number;
  readonly kubeletPages?: readonly KubeletPage[];
  readonly maxBackoffRounds?: number;
  readonly maxKeptBytes?: number;
  readonly maxPageBytes?: number;
  readonly maxRoundBytes?: number;
  readonly maxSamplesPerPage?: number;
}

export type CollectorConfig = SettingsOf<typeof collectorSettings> &
  CollectorBounds &
  BufferBounds &
  PrometheusBounds;
