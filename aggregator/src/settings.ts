import { bytes, duration, integer, list, oneOf, section, text, type SettingsOf } from "@isochrone/runtime";
import { METHODS, type Method } from "@isochrone/telemetry";

/** What the aggregator can be told. */
export const aggregatorSettings = section(
  "aggregator",
  {
    host: text({
      default: "0.0.0.0",
      description: "Address that the graph API, the ingest and the page listen on.",
    }),
    port: integer({
      default: 8080,
      min: 0,
      max: 65_535,
      description: "Port of all of them; 0 takes any free one.",
    }),
    windowMs: duration({
      default: 300_000,
      min: 1000,
      max: 86_400_000,
      description: "Length of the window that graphs are read from.",
    }),
    paneMs: duration({
      default: 10_000,
      min: 100,
      max: 3_600_000,
      description: "Length of a pane: the step in which old samples leave the window.",
    }),
    fastPanes: integer({
      default: 3,
      min: 1,
      max: 1000,
      description: "Length of the fast window (for alerts), in panes.",
    }),
    buildIntervalMs: duration({
      default: 10_000,
      min: 100,
      max: 3_600_000,
      description:
        "How often the graphs are built; with panes of more than a second, a second suits small clusters.",
    }),
    costMethods: list({
      default: ["udp_rr", "tcp_rr", "icmp"],
      description:
        "Methods that a link's cost may come from (icmp, udp_rr, tcp_rr); the first that got an answer is used.",
    }),
    costQuantile: oneOf(["p50", "p90"], {
      default: "p50",
      description:
        "Which quantile of the round-trip time is a link's cost; p90 needs 20 samples in the window.",
    }),
    maxFutureMs: duration({
      default: 2000,
      min: 0,
      max: 60_000,
      description:
        "How far ahead of the aggregator's clock a point may lie, after its source's clock was corrected.",
    }),
    maxSeries: integer({
      default: 1_000_000,
      min: 1000,
      description: "Series that are remembered; beyond that the least recently used one is forgotten.",
    }),
    maxSources: integer({
      default: 16_384,
      min: 16,
      description: "Publishers whose clock and record sequence are remembered.",
    }),
    maxLinks: integer({
      default: 500_000,
      min: 16,
      description: "Links that are kept; points of further ones are counted and left out.",
    }),
    maxChannels: integer({
      default: 200_000,
      min: 16,
      description: "Channels that are kept; points of further ones are counted and left out.",
    }),
    maxPods: integer({
      default: 500_000,
      min: 16,
      description: "Pods (and nodes) whose usage is kept; points of further ones are counted and left out.",
    }),
    bodyLimitBytes: bytes({
      default: 4 * 1024 * 1024,
      min: 1024,
      description:
        "Largest body that the ingest takes as it comes over the wire; unpacked it may be four times that.",
    }),
    eventHistory: integer({
      default: 600,
      min: 1,
      max: 100_000,
      description: "Events that a client of the event stream can catch up on after a break.",
    }),
    maxEventClients: integer({
      default: 256,
      min: 1,
      description: "Clients of the event stream at one time; further ones get 503.",
    }),
    eventClientBufferBytes: bytes({
      default: 1024 * 1024,
      min: 1024,
      description:
        "What may wait for a client of the event stream that reads too slowly, before it is cut off.",
    }),
    probeUdpPort: integer({
      default: 7411,
      min: 1,
      max: 65_535,
      description: "UDP port of the probes' responders.",
    }),
    probeTcpPort: integer({
      default: 7411,
      min: 1,
      max: 65_535,
      description: "TCP port of the probes' responders.",
    }),
    probeFullMeshLimit: integer({
      default: 32,
      min: 2,
      max: 1000,
      description: "Up to so many nodes every node probes every other one.",
    }),
    probePeers: integer({
      default: 10,
      min: 1,
      max: 200,
      description: "Peers of a node in larger clusters, beside one in each other zone.",
    }),
    probeZonePeers: integer({
      default: 16,
      min: 0,
      max: 200,
      description: "Most zones that a node of a larger cluster has a representative of as a peer.",
    }),
    decisionsUrl: text({
      default: null,
      pattern: /https?:\/\/\S+/,
      patternRule: "must be an http or https address",
      description:
        "Base address of the scheduler-plugin, whose decisions and plans are passed through; without it there are none.",
    }),
    decisionsTimeoutMs: duration({
      default: 5000,
      min: 10,
      max: 60_000,
      description: "How long the scheduler-plugin may take for an answer.",
    }),
    dumpFile: text({
      default: null,
      description:
        "A Kubernetes List (JSON) that stands for the cluster, read once at start. There is no adapter for a real API server yet.",
    }),
  },
  {
    description: "Builds both graphs from what is on the bus, and serves them.",
    rules: [
      ({ windowMs, paneMs }) =>
        windowMs % paneMs === 0 && windowMs / paneMs <= 1000
          ? null
          : `aggregator.windowMs must be a multiple of aggregator.paneMs, at most 1000 times it, got ${windowMs} and ${paneMs}`,
      ({ fastPanes, windowMs, paneMs }) =>
        fastPanes * paneMs <= windowMs
          ? null
          : `aggregator.fastPanes must fit into aggregator.windowMs (${windowMs / paneMs} panes), got ${fastPanes}`,
      ({ maxFutureMs, paneMs }) =>
        maxFutureMs <= paneMs
          ? null
          : `aggregator.maxFutureMs must not exceed aggregator.paneMs (${paneMs}), got ${maxFutureMs}`,
      ({ costMethods }) => checkMethods(costMethods),
    ],
  },
);

/** Values of {@link aggregatorSettings}. */
export type AggregatorConfig = SettingsOf<typeof aggregatorSettings>;

function checkMethods(methods: readonly string[]): string | null {
  const unknown = methods.find((method) => !METHODS.some((known) => known === method));
  if (unknown !== undefined) {
    return `aggregator.costMethods must name only ${METHODS.join(", ")}, got ${unknown}`;
  }
  return methods.length > 0 && new Set(methods).size === methods.length
    ? null
    : `aggregator.costMethods must name at least one method and none twice, got ${methods.join(", ")}`;
}

/** The configured order of methods, typed. */
export function costMethodsOf(config: AggregatorConfig): Method[] {
  return METHODS.filter((method) => config.costMethods.includes(method)).sort(
    (a, b) => config.costMethods.indexOf(a) - config.costMethods.indexOf(b),
  );
}
