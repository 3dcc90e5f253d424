export const WORKFLOW_LABEL = "isochrone.dev/workflow";

export const BEHAVIOUR = {
  calls: "lab.isochrone.dev/calls",
  responseBytes: "lab.isochrone.dev/response-bytes",
  requestBytes: "lab.isochrone.dev/request-bytes",
  cpuMs: "lab.isochrone.dev/cpu-ms",
  /** "exponential": busy work is drawn per request with mean `cpu-ms`. */
  cpuSpread: "lab.isochrone.dev/cpu-spread",
  /** "modelled": busy work counts as CPU time without using the machine; one request at a time. */
  cpuKind: "lab.isochrone.dev/cpu-kind",
  /**
   * JSON by service with overrides per call, such as `{"b": {"probability": 0.5, "requestBytes": 100,
   * "responseBytes": 2000}}`.
   */
  callOptions: "lab.isochrone.dev/call-options",
  /** "true" on the one workload that users call. */
  entry: "lab.isochrone.dev/entry",
} as const;

export const PUBLISHED = {
  port: "lab.isochrone.dev/port",
  scrape: "prometheus.io/scrape",
  scrapePort: "prometheus.io/port",
  scrapePath: "prometheus.io/path",
} as const;

export const SIDECAR_METRICS_PATH = "/stats/prometheus";
export const CADVISOR_PATH = "/metrics/cadvisor";

/** Header with the calling workload's name, set by applications, not sidecars. */
export const SOURCE_WORKLOAD_HEADER = "x-source-workload";
/** Header that requests a response of that size. */
export const RESPONSE_BYTES_HEADER = "x-response-bytes";
/** ORCA header with the responder's load. */
export const LOAD_HEADER = "endpoint-load-metrics";
export const LOAD_PATH = "/load";
/** Istio headers that identify the calling sidecar. */
export const PEER_METADATA_HEADER = "x-envoy-peer-metadata";
export const PEER_ID_HEADER = "x-envoy-peer-metadata-id";

export const UNKNOWN = "unknown";
