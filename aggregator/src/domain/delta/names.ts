/** Metrics of a delta that no input has. What a delta says of links is in the probes' own. */
export const PANE_METRICS = {
  /**
   * Delta sum at the start of a pane: what a flow of a channel grew by in the pane. With a start: see
   * channelCover; in the pane where that ends.
   */
  channelPart: "isochrone.pane.channel.part",
  /**
   * Delta sum of 0 from start to time: the time that a reporter of a channel speaks for, where no part tells
   * it.
   */
  channelCover: "isochrone.pane.channel.cover",
  /** As channelPart, of what a zone asks of a Service. */
  demandPart: "isochrone.pane.demand.part",
  /** As channelCover, likewise. */
  demandCover: "isochrone.pane.demand.cover",
  /**
   * Delta sum at the start of a pane: what a counter of a pod or node grew by in the pane. With a start: see
   * usageCover; in the pane where that ends.
   */
  usagePart: "isochrone.pane.usage.part",
  /** Delta sum of 0 from start to time: the time that this counter speaks for, where no part tells it. */
  usageCover: "isochrone.pane.usage.cover",
  /** Histogram without buckets: count and sum of samples of cores in use. */
  cpuLevel: "isochrone.pane.usage.cpu",
  /** Gauge, bytes. */
  memory: "isochrone.pane.usage.memory",
} as const;

/** Attributes of these metrics. */
export const PANE_ATTRIBUTES = {
  sourceNamespace: "source_namespace",
  source: "source",
  targetNamespace: "target_namespace",
  target: "target",
  reporter: "reporter",
  flow: "flow",
  /** pod or node. */
  scope: "scope",
  /** Of a pod namespace/name. */
  name: "name",
  counter: "counter",
  /** Who tells the memory. */
  usageSource: "usage_source",
  /** Container whose memory or CPU it is; absent: the whole pod's or node's. */
  container: "container",
} as const;
