import {
  bytes,
  caFileSetting,
  clientFilesMistake,
  duration,
  flag,
  integer,
  list,
  oneOf,
  section,
  text,
  tokenFileSetting,
  type SettingsOf,
} from "@isochrone/runtime";
import { STATIC_TARGET } from "./adapters/static-targets.ts";
import { POD_TARGET } from "./discovery/pod-targets.ts";
import { ACCOUNT } from "./discovery/trusted.ts";
import { TARGET_KINDS } from "./ports.ts";
import { prometheusFields, prometheusRules } from "./prometheus/settings.ts";
import { trustFields } from "./trust-settings.ts";

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Pages of a kubelet that tell the usage of its pods. */
export const KUBELET_PAGES = ["cadvisor", "resource"] as const;
/** What discovery looks for beside the kubelet. */
export const DISCOVERABLE = ["istio", "hubble"] as const;

/** Where figures come from: the pages of the own node, or a Prometheus that has scraped all. */
export const COLLECTOR_MODES = ["node", "prometheus"] as const;

/** Everything the collector can be told. */
export const collectorSettings = section(
  "collector",
  {
    mode: oneOf(COLLECTOR_MODES, {
      default: "node",
      description:
        "node: scrape the pages of the own node (a DaemonSet); prometheus: ask a Prometheus (one process).",
    }),
    node: text({
      default: "",
      minLength: 0,
      description: "Name of the node whose pages are scraped; a DaemonSet passes spec.nodeName.",
    }),
    intervalMs: duration({ default: 10_000, min: 100, description: "How often every page is scraped." }),
    timeoutMs: duration({
      default: 5_000,
      min: 10,
      description: "How long a page may take from the first byte sent to the last received.",
    }),
    maxPageBytes: bytes({
      default: 16 * 1024 * 1024,
      min: 1024,
      description: "A larger page (as received, or after decompression) is refused.",
    }),
    maxRoundBytes: bytes({
      default: 128 * 1024 * 1024,
      min: 1024,
      description:
        "No further page is begun in a round that has read so much; the pages that were left out come first in the next.",
    }),
    maxSamplesPerPage: integer({
      default: 50_000,
      min: 1,
      description: "A page with more wanted samples is refused.",
    }),
    maxSeriesPerPod: integer({
      default: 5_000,
      min: 1,
      description:
        "Series that the page of a pod's own proxy may have; the rows of further ones are left out, and counted.",
    }),
    maxKeptBytes: bytes({
      default: 64 * 1024 * 1024,
      min: 65_536,
      description:
        "What is remembered of the pages of pods, all together. Beyond it, pages of namespaces are refused that hold more than an equal share.",
    }),
    extraFamilies: list({
      default: [],
      description: "Metrics kept beside those that the graphs are drawn from, with all their labels.",
    }),
    reduce: flag({
      default: true,
      description:
        "Sum up rows of a page that differ only in labels that no graph uses, before they are published.",
    }),
    maxTargets: integer({
      default: 1_000,
      min: 1,
      description: "Pages scraped at most; the rest is left out, and counted.",
    }),
    maxBackoffRounds: integer({
      default: 8,
      min: 1,
      description: "A page that keeps failing is tried ever less often, but at least once in so many rounds.",
    }),
    concurrency: integer({ default: 16, min: 1, max: 256, description: "Pages scraped at the same time." }),
    staticTargets: list({
      default: [],
      pattern: STATIC_TARGET,
      patternRule: `must hold only kind=url with kind one of ${TARGET_KINDS.join(", ")}`,
      description:
        "Pages to scrape beside the discovered ones, each as kind=url; kind is cadvisor, resource, node_exporter, istio, service_graph or hubble.",
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
      pattern: /istio|hubble/,
      patternRule: "must hold only istio and hubble",
      description: "Pages of pods that are found by themselves; none: an empty list.",
    }),
    sidecarPage: oneOf(["envoy", "merged"], {
      default: "envoy",
      description:
        "Which page of an Istio proxy is read where a pod has both: Envoy's own (15090), or the one merged with the application's (15020).",
    }),
    proxyAccounts: list({
      default: ["*/*"],
      pattern: ACCOUNT,
      patternRule: "must hold only namespace/service-account, either of them * for any",
      description:
        "Service accounts of pods whose Istio proxies are read. Whoever is read tells of channels that its own pod is an end of, and of no others.",
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
    kubeletPages: list({
      default: KUBELET_PAGES,
      minItems: 1,
      pattern: /cadvisor|resource/,
      patternRule: "must hold only cadvisor and resource",
      description:
        "Pages of the kubelet. The first is read; the second stands in for it while it keeps failing, because both count the same containers.",
    }),
    kubeletIntervalMs: duration({
      default: null,
      min: 100,
      description: "How often the kubelet's page is scraped, in whole rounds; as all others if not given.",
    }),
    kubeletTimeoutMs: duration({
      default: null,
      min: 10,
      description: "How long the kubelet's page may take; as all others if not given.",
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
    aggregatorUrl: text({
      default: "http://127.0.0.1:8080",
      description: "Where records are posted (OTLP/HTTP).",
    }),
    aggregatorTokenFile: tokenFileSetting("the aggregator"),
    aggregatorCaFile: caFileSetting("the aggregator"),
    bufferBytes: bytes({
      default: 8 * 1024 * 1024,
      min: 65_536,
      description: "What is kept while the bus is away; the oldest is dropped, and counted, beyond that.",
    }),
    bufferMaxAgeMs: duration({
      default: 300_000,
      min: 1000,
      max: 86_400_000,
      description:
        "Records that have waited for longer are dropped, and counted: the aggregators' window has passed them.",
    }),
    catchUpRecordsPerSecond: integer({
      default: 5,
      min: 1,
      max: 100_000,
      description:
        "How fast what has waited is sent once the bus is back, beside what is new: all collectors of a cluster have waited. One that queries Prometheus for all of them wants some 50.",
    }),
    host: text({
      default: "0.0.0.0",
      description: "Address of the collector's own /metrics, /healthz and /readyz.",
    }),
    port: integer({ default: 9102, min: 0, max: 65_535, description: "Port of the collector's own pages." }),
    ...prometheusFields,
  },
  {
    rules: [
      ({ aggregatorUrl, aggregatorTokenFile, aggregatorCaFile }) =>
        clientFilesMistake("collector", { aggregatorUrl }, { aggregatorTokenFile }, { aggregatorCaFile }),
      ({ mode, node }) =>
        mode !== "node" || node !== ""
          ? null
          : 'collector.node must be given in the mode "node" (a DaemonSet passes spec.nodeName), got ""',
      ({ mode, timeoutMs, intervalMs }) =>
        mode !== "node" || timeoutMs < intervalMs
          ? null
          : `collector.timeoutMs must be below collector.intervalMs (${intervalMs}), got ${timeoutMs}`,
      ({ mode, kubeletTimeoutMs, intervalMs }) =>
        mode !== "node" || kubeletTimeoutMs === null || kubeletTimeoutMs < intervalMs
          ? null
          : `collector.kubeletTimeoutMs must be below collector.intervalMs (${intervalMs}), got ${kubeletTimeoutMs}`,
      ({ mode, kubeletIntervalMs, intervalMs }) =>
        mode !== "node" || kubeletIntervalMs === null || kubeletIntervalMs >= intervalMs
          ? null
          : `collector.kubeletIntervalMs must be at least collector.intervalMs (${intervalMs}), got ${kubeletIntervalMs}`,
      ({ mode, maxPageBytes, maxRoundBytes }) =>
        mode !== "node" || maxPageBytes <= maxRoundBytes
          ? null
          : `collector.maxRoundBytes must be at least collector.maxPageBytes (${maxPageBytes}), got ${maxRoundBytes}`,
      ({ mode, ...values }) =>
        mode === "node"
          ? null
          : (prometheusRules.map((rule) => rule(values)).find((mistake) => mistake !== null) ?? null),
    ],
  },
);

export type CollectorConfig = SettingsOf<typeof collectorSettings>;
