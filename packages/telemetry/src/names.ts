// The names of everything that travels on the bus. They are a public contract: an OpenTelemetry Collector
// reads and writes them too.

/** Bus topics (design §4). The record key is the source node's name in all three. */
export const TOPICS = {
  probe: "isochrone.probe.v1",
  usage: "isochrone.usage.v1",
  traffic: "isochrone.traffic.v1",
} as const;

/** Topics that the leading aggregator writes. */
export const STATE_TOPICS = {
  /** Last bandwidth tests of pairs, which outlive the window; compacted, a tombstone when they expire. */
  graph: "isochrone.graph.v1",
  /** What could not be used: reason, position and first bytes. */
  deadLetter: "isochrone.deadletter.v1",
} as const;

/** OTLP metric names that probes publish. */
export const PROBE_METRICS = {
  /** Exponential histogram, scale 6, delta, seconds: network round-trip times of one pane. */
  rtt: "isochrone.probe.rtt",
  /** Sum of |RTT_i - RTT_{i-1}| in seconds, delta, monotonic. */
  rttVariation: "isochrone.probe.rtt.variation",
  /** How many differences the variation sums up, delta, monotonic. */
  rttVariationCount: "isochrone.probe.rtt.variation.count",
  /** Packets (or transactions) by `outcome`, delta, monotonic. */
  packets: "isochrone.probe.packets",
  /** Gauge, bit/s: rate that a burst achieved on the wire, headers included. */
  bandwidth: "isochrone.probe.bandwidth",
  /** Bandwidth tests by `result`, delta, monotonic. */
  bandwidthTests: "isochrone.probe.bandwidth.tests",
  /** Bytes that bandwidth tests put on the wire, delta, monotonic. */
  bandwidthBytes: "isochrone.probe.bandwidth.bytes",
} as const;

/** OTLP metric names of the node of the resource, as its own kernel tells. */
export const NODE_METRICS = {
  /** Bytes of one network card by `interface` and `direction` (receive, transmit), cumulative, monotonic. */
  network: "isochrone.node.network.io",
} as const;

/** Attributes of a probe's data points. */
export const PROBE_ATTRIBUTES = {
  destinationNode: "destination_node",
  method: "method",
  ipFamily: "ip_family",
  outcome: "outcome",
  /** Of bandwidth: tcp or udp. */
  transport: "transport",
  /** Of bandwidth tests: see BANDWIDTH_RESULTS. */
  result: "result",
} as const;

/** OTLP metric names that network managers publish, of each flow at the node of the resource. */
export const FLOW_METRICS = {
  /** Gauge, bit/s: what the flow may send at most. */
  allowed: "isochrone.flow.allowed",
  /** Bytes that the flow's class has sent, headers included, delta, monotonic. */
  sent: "isochrone.flow.sent",
  /** Packets for which its queue had no room, delta, monotonic. */
  dropped: "isochrone.flow.dropped",
} as const;

/** Attributes of a flow's data points. */
export const FLOW_ATTRIBUTES = {
  /** As the flow plan calls it. */
  flow: "flow",
} as const;

/** OTLP metric names of what a node's kernel tracks of connections. */
export const CONNECTION_METRICS = {
  /** Bytes of both directions, IP headers included, delta, monotonic. */
  bytes: "isochrone.connection.bytes",
  /** Bytes of one direction of what a pod exchanges with the outside of the cluster, likewise. */
  outsideBytes: "isochrone.outside.bytes",
} as const;

/** Attributes of connections: addresses, of a Service's that of the pod behind it. */
export const CONNECTION_ATTRIBUTES = {
  /** Who opened it. */
  client: "client_address",
  server: "server_address",
} as const;

/** Attributes of what a pod exchanges with the outside. */
export const OUTSIDE_ATTRIBUTES = {
  /** The pod's address. */
  pod: "pod_address",
  /** What the far end is called: never its address. */
  outside: "outside",
  /** As the pod sees it: one of {@link OUTSIDE_DIRECTIONS}. */
  direction: "direction",
} as const;

export const OUTSIDE_DIRECTIONS = { sent: "sent", received: "received" } as const;

/** Resource attributes of what probes and collectors publish. */
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
 * How a round-trip time was measured. Methods are never merged with each other. `tcp_connect` is the
 * handshake alone.
 */
export const METHODS = ["icmp", "udp_rr", "tcp_rr", "tcp_connect"] as const;
export type Method = (typeof METHODS)[number];

/**
 * What became of one sent packet. `sent` counts every send that the kernel accepted, so that sent =
 * received + lost + still waiting; `late` and `duplicate` are counted beside, `lost` includes the late ones.
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

/** How a bandwidth test ended. Only `ok` carries a rate. */
const BANDWIDTH_RESULTS = [
  "ok",
  /** Other traffic was on the way, before or within the burst. */
  "skipped_busy",
  /** The node's byte budget of the hour is spent. */
  "skipped_budget",
  "error",
] as const;
export type BandwidthResult = (typeof BANDWIDTH_RESULTS)[number];

/** Headers of a bus record; the same on memory, HTTP and Kafka (design §4). */
export const HEADERS = {
  source: "isochrone-source",
  epoch: "isochrone-epoch",
  sequence: "isochrone-sequence",
  sentAt: "isochrone-sent-at",
  /**
   * Who the record comes from, as its publisher has proven: node/NAME or service/NAME. Never taken from a
   * client as it is.
   */
  speaker: "isochrone-speaker",
  /** Proves the header before it on a bus that others can write to. */
  mac: "isochrone-mac",
  contentType: "content-type",
} as const;
