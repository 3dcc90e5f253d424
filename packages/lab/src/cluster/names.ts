// Labels, annotations and names of the embedded cluster, in one place. The stand-in program's own are
// lab.isochrone.dev/*.

/** Label that names the workflow of a workload. */
export const WORKFLOW_LABEL = "isochrone.dev/workflow";

/** Annotations on a pod template that say how the stand-in program behaves. */
export const BEHAVIOUR = {
  /** Services called in parallel on each request, separated by commas. */
  calls: "lab.isochrone.dev/calls",
  /** Body bytes of an answer. */
  responseBytes: "lab.isochrone.dev/response-bytes",
  /** Body bytes of each request that it sends to a callee. */
  requestBytes: "lab.isochrone.dev/request-bytes",
  /** Busy work per request, milliseconds. */
  cpuMs: "lab.isochrone.dev/cpu-ms",
  /** "exponential": the busy work is drawn anew for each request, `cpu-ms` is its mean. */
  cpuSpread: "lab.isochrone.dev/cpu-spread",
  /**
   * "modelled": the busy work takes its time and counts as CPU time, without the machine's; one request at a
   * time.
   */
  cpuKind: "lab.isochrone.dev/cpu-kind",
  /**
   * JSON by service: what a call has of its own, such as `{"b": {"probability": 0.5, "requestBytes": 100,
   * "responseBytes": 2000}}`.
   */
  callOptions: "lab.isochrone.dev/call-options",
  /** "true" on the one workload that users call. */
  entry: "lab.isochrone.dev/entry",
} as const;

/** Annotations that the kubelet stand-in writes. */
export const PUBLISHED = {
  /** Port of the pod's inbound proxy on the node's address. */
  port: "lab.isochrone.dev/port",
  scrape: "prometheus.io/scrape",
  scrapePort: "prometheus.io/port",
  scrapePath: "prometheus.io/path",
} as const;

/** Path of the sidecar's metrics page. */
export const SIDECAR_METRICS_PATH = "/stats/prometheus";
/** Path of the kubelet's usage page. */
export const CADVISOR_PATH = "/metrics/cadvisor";

/** Header with which an application names itself to the one it calls; independent of the sidecars. */
export const SOURCE_WORKLOAD_HEADER = "x-source-workload";
/** Header with which an application asks for an answer of that size, where its call has one of its own. */
export const RESPONSE_BYTES_HEADER = "x-response-bytes";
/** Header of an answer with the load of who answers, as ORCA has it. */
export const LOAD_HEADER = "endpoint-load-metrics";
/** Path at which a program says its load, and does nothing else. */
export const LOAD_PATH = "/load";
/** Headers with which a sidecar tells its peer who is calling, as Istio's do. */
export const PEER_METADATA_HEADER = "x-envoy-peer-metadata";
export const PEER_ID_HEADER = "x-envoy-peer-metadata-id";

/** What Istio writes where it doesn't know. */
export const UNKNOWN = "unknown";
