// Names of everything on the bus: a public contract, also with an OpenTelemetry Collector.

/** Bus topics. The record key is the source node's name. */
export const TOPICS = {
  probe: "isochrone.probe.v1",
  usage: "isochrone.usage.v1",
  traffic: "isochrone.traffic.v1",
} as const;

/** Topics that the leading aggregator writes. */
export const STATE_TOPICS = {
  /** Last bandwidth tests of pairs, which outlive the window; compacted, a tombstone when they expire. */
  graph: "isochrone.graph.v1",
  /** Unusable records: reason, position and first bytes. */
  deadLetter: "isochrone.deadletter.v1",
} as const;

export const PROBE_METRICS = {
  /** Exponential histogram, scale 6, delta, seconds: network round-trip times of one pane. */
  rtt: "isochrone.probe.rtt",
  /** Sum of |RTT_i - RTT_{i-1}| in seconds, delta, monotonic. */
  rttVariation: "isochrone.probe.rtt.variation",
  /** Number of differences in the variation, delta, monotonic. */
  rttVariationCount: "isochrone.probe.rtt.variation.count",
  /** Packets (or transactions) by `outcome`, delta, monotonic. */
  packets: "isochrone.probe.packets",
  /** Gauge, bit/s: rate of a burst on the wire, headers included. */
  bandwidth: "isochrone.probe.bandwidth",
  /** Bandwidth tests by `result`, delta, monotonic. */
  bandwidthTests: "isochrone.probe.bandwidth.tests",
  /** Bytes of bandwidth tests on the wire, delta, monotonic. */
  bandwidthBytes: "isochrone.probe.bandwidth.bytes",
} as const;

export const NODE_METRICS = {
  /** Bytes of a network card by `interface` and `direction` (receive, transmit), cumulative, monotonic. */
  network: "isochrone.node.network.io",
} as const;

export const PROBE_ATTRIBUTES = {
  destinationNode: "destination_node",
  method: "method",
  ipFamily: "ip_family",
  outcome: "outcome",
  transport: "transport",
  result: "result",
} as const;

export const FLOW_METRICS = {
  /** Gauge, bit/s: the flow's rate limit. */
  allowed: "isochrone.flow.allowed",
  /** Bytes sent by the flow's class, headers included, delta, monotonic. */
  sent: "isochrone.flow.sent",
  /** Packets dropped by its full queue, delta, monotonic. */
  dropped: "isochrone.flow.dropped",
} as const;

export const FLOW_ATTRIBUTES = {
  flow: "flow",
} as const;

export const CONNECTION_METRICS = {
  /** Bytes of both directions, IP headers included, delta, monotonic. */
  bytes: "isochrone.connection.bytes",
  /** Bytes of one direction between a pod and the outside, delta, monotonic. */
  outsideBytes: "isochrone.outside.bytes",
} as const;

/** Addresses of a connection; for a Service, that of the pod behind it. */
export const CONNECTION_ATTRIBUTES = {
  client: "client_address",
  server: "server_address",
} as const;

export const OUTSIDE_ATTRIBUTES = {
  pod: "pod_address",
  /** Name of the far end, never its address. */
  outside: "outside",
  /** Seen from the pod: one of {@link OUTSIDE_DIRECTIONS}. */
  direction: "direction",
} as const;

export const OUTSIDE_DIRECTIONS = { sent: "sent", received: "received" } as const;

export const RESOURCE_ATTRIBUTES = {
  serviceName: "service.name",
  serviceInstanceId: "service.instance.id",
  node: "k8s.node.name",
  namespace: "k8s.namespace.name",
  pod: "k8s.pod.name",
  container: "k8s.container.name",
  cluster: "k8s.cluster.name",
  zone: "cloud.availability_zone",
  region: "cloud.region",
} as const;

/**
 * Measurement method of a round-trip time; methods are never merged. `tcp_connect` is the handshake alone.
 */
export const METHODS = ["icmp", "udp_rr", "tcp_rr", "tcp_connect"] as const;
export type Method = (typeof METHODS)[number];

/**
 * Outcome of a sent packet. `sent` = received + lost + pending; `lost` includes `late`; `duplicate` counts
 * separately.
 */
export const OUTCOMES = [
  "sent",
  "received",
  "lost",
  "late",
  "duplicate",
  "corrupt",
  "send_error",
  "discarded",
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Results of a bandwidth test. Only `ok` has a rate. */
const BANDWIDTH_RESULTS = [
  "ok",
  /** Other traffic before or within the burst. */
  "skipped_busy",
  "skipped_budget",
  "error",
] as const;
export type BandwidthResult = (typeof BANDWIDTH_RESULTS)[number];

/** Headers of a bus record, equal on memory, HTTP and Kafka. */
export const HEADERS = {
  source: "isochrone-source",
  epoch: "isochrone-epoch",
  sequence: "isochrone-sequence",
  sentAt: "isochrone-sent-at",
  /** The publisher as authenticated: node/NAME or service/NAME. Never copied from a client. */
  speaker: "isochrone-speaker",
  /** Authenticates `isochrone-speaker` on a bus that others can write to. */
  mac: "isochrone-mac",
  contentType: "content-type",
} as const;
