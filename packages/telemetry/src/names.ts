// The names of everything that travels on the bus. They are a public contract: an OpenTelemetry Collector reads and writes them too.

/** Bus topics (design §4). The record key is the source node's name in all three. */
export const TOPICS = {
  probe: "isochrone.probe.v1",
  usage: "isochrone.usage.v1",
  traffic: "isochrone.traffic.v1",
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
} as const;

/** Attributes of a probe's data points. */
export const PROBE_ATTRIBUTES = {
  destinationNode: "destination_node",
  method: "method",
  ipFamily: "ip_family",
  outcome: "outcome",
} as const;

/** Resource attributes of what probes and collectors publish. */
export const RESOURCE_ATTRIBUTES = {
  serviceName: "service.name",
  serviceInstanceId: "service.instance.id",
  node: "k8s.node.name",
  zone: "cloud.availability_zone",
  region: "cloud.region",
} as const;

/** How a round-trip time was measured. Methods are never merged with each other. */
export const METHODS = ["icmp", "udp_rr", "tcp_rr"] as const;
export type Method = (typeof METHODS)[number];

/**
 * What became of one sent packet. `sent` counts every send that the kernel accepted, so that
 * sent = received + lost + still waiting; `late` and `duplicate` are counted beside, `lost` includes the late ones.
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

/** Headers of a bus record; the same on memory, HTTP and Kafka (design §4). */
export const HEADERS = {
  source: "isochrone-source",
  epoch: "isochrone-epoch",
  sequence: "isochrone-sequence",
  sentAt: "isochrone-sent-at",
  contentType: "content-type",
} as const;
