import {
  bytes,
  duration,
  flag,
  integer,
  list,
  oneOf,
  section,
  text,
  type SettingsOf,
} from "@isochrone/runtime";
import { METHODS, type Method } from "@isochrone/telemetry";
import { COST_QUANTILES } from "./domain/cost-rule.ts";
import { speakersMistake } from "./domain/speakers/policy.ts";
import { DECLARATION_SETTINGS } from "./declaration-settings.ts";
import { ACCESS_RULES, ACCESS_SETTINGS } from "./http/access-settings.ts";
import { INTAKE_RULES, INTAKE_SETTINGS } from "./intake/intake-settings.ts";
import { PROBING_RULES, PROBING_SETTINGS } from "./probing-settings.ts";
import { RECORD_KEY_RULES, RECORD_KEY_SETTINGS } from "./record-keys/settings.ts";
import { REPLICATION_RULES, REPLICATION_SETTINGS } from "./replication-settings.ts";
import { DEFAULT_METHOD_ORDER } from "@isochrone/topology";

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
    counterLagMs: duration({
      default: 20_000,
      min: 0,
      max: 600_000,
      description:
        "How far the counters of a channel may lag behind each other: somewhat more than collectors' scrape interval. A channel's rates end so long before its newest sample, at most a quarter of the window.",
    }),
    buildIntervalMs: duration({
      default: 10_000,
      min: 100,
      max: 3_600_000,
      description:
        "How often the graphs are built; with panes of more than a second, a second suits small clusters.",
    }),
    costMethods: list({
      default: [...DEFAULT_METHOD_ORDER],
      description:
        "Methods that a link's cost may come from (icmp, udp_rr, tcp_rr, tcp_connect); the first that got an answer is used.",
    }),
    costQuantile: oneOf(COST_QUANTILES, {
      default: "p50",
      description:
        "What of the round-trip times in the window is a link's cost: the median (p50), the 90th percentile (p90; needs 20 samples), or the mean, which one late reply moves.",
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
    maxSeriesPerSource: integer({
      default: 100_000,
      min: 100,
      description:
        "New series that one publisher (by its proven speaker, where access is asked for) may bring per window; its further ones are refused and counted, and nobody else's are forgotten for them. On Kafka at most half of a partition's share of aggregator.maxSeries.",
    }),
    maxSources: integer({
      default: 16_384,
      min: 16,
      description: "Publishers whose clock and record sequence are remembered.",
    }),
    speakers: text({
      default: null,
      maxLength: 65_536,
      description:
        'Services that may send telemetry of others than their own node, as JSON: [{"account": "system:serviceaccount:otel:collector", "nodes": ["*"], "namespaces": ["shop"]}]. `nodes`: whose own usage and measurements; `namespaces`: whose pods\' usage, and the channels that begin or end there; "*" alone: all. `name` (default: the account) is how records on Kafka call it; a service that only writes to a topic of aggregator.foreignTopics has a name and no account. Everybody else speaks for the node of its token\'s pod only; see docs/security.md.',
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
    meshNamespaces: list({
      default: ["istio-system"],
      pattern: /[a-z0-9](?:[-a-z0-9]*[a-z0-9])?/,
      patternRule: "must hold only names of namespaces",
      description:
        "Namespaces whose gateways and waypoints are believed about the other end of a channel, too. Everybody else's proxies speak for their own namespace: the other one's graphs show the channel once a proxy there reports it.",
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
    historyMs: duration({
      default: 3_600_000,
      min: 0,
      max: 86_400_000,
      description:
        "How far back ?at= reaches: graphs of former moments, one every 10 s at most. 0: none are kept.",
    }),
    historyBytes: bytes({
      default: 64 * 1024 * 1024,
      min: 1024 * 1024,
      max: 8 * 1024 ** 3,
      description: "What they may take in memory; in large clusters they are thinned out to fit.",
    }),
    maxEventClients: integer({
      default: 256,
      min: 1,
      description:
        "Clients of the event stream at one time. For another one the oldest stream ends of the address that holds the most; it gets 503 where they are shared out evenly.",
    }),
    eventClientBufferBytes: bytes({
      default: 1024 * 1024,
      min: 1024,
      description:
        "What may wait for a client of the event stream that reads too slowly, before it is cut off.",
    }),
    ...PROBING_SETTINGS,
    ...INTAKE_SETTINGS,
    ...RECORD_KEY_SETTINGS,
    ...REPLICATION_SETTINGS,
    ...ACCESS_SETTINGS,
    ...DECLARATION_SETTINGS,
    bandwidthResource: text({
      default: "network.aware.com/bandwidth",
      pattern: /[a-z0-9.-]+\/[A-Za-z0-9._-]+/,
      patternRule: "must be the name of an extended resource, as network.aware.com/bandwidth",
      description:
        "Extended resource by which node objects declare the capacity of their network, in bits per second.",
    }),
    istioRouting: flag({
      default: false,
      description:
        "Read how a mesh spreads traffic from Istio's DestinationRules, too: outlier detection with its locality settings makes callers prefer nearer replicas.",
    }),
    bandwidthMaxAgeMs: duration({
      default: 1_800_000,
      min: 1000,
      max: 86_400_000,
      description: "How long a bandwidth test counts as what a link achieves; tests are rare.",
    }),
    bandwidthCapacityWindowMs: duration({
      default: 86_400_000,
      min: 1000,
      max: 2_592_000_000,
      description:
        "The best bandwidth test of so long is taken for the capacity of a link whose nodes declare none.",
    }),
    coordinateIntervalMs: duration({
      default: null,
      min: 100,
      max: 86_400_000,
      description:
        "How often network coordinates are fitted, if the samples changed. Without it: half of aggregator.windowMs.",
    }),
    coordinateTimeoutMs: duration({
      default: 120_000,
      min: 100,
      max: 3_600_000,
      description: "How long a fit may take before its thread is ended and started anew.",
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
        "A Kubernetes List (JSON) that stands for the cluster, read once at start; without it the API server of the section kubernetes.",
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
      ...PROBING_RULES,
      speakersMistake,
      ...INTAKE_RULES,
      ...RECORD_KEY_RULES,
      ...REPLICATION_RULES,
      ...ACCESS_RULES,
      ({ bandwidthMaxAgeMs, bandwidthCapacityWindowMs }) =>
        bandwidthMaxAgeMs <= bandwidthCapacityWindowMs
          ? null
          : `aggregator.bandwidthMaxAgeMs must not exceed aggregator.bandwidthCapacityWindowMs (${bandwidthCapacityWindowMs}), got ${bandwidthMaxAgeMs}`,
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
