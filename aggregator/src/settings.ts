import {
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
import { METHODS, type Method } from "@isochrone/telemetry";
import { speakersMistake } from "./domain/speakers/policy.ts";
import { DECLARATION_SETTINGS } from "./declaration-settings.ts";
import { ACCESS_RULES, ACCESS_SETTINGS } from "./http/access-settings.ts";
import { INTAKE_SETTINGS } from "./intake/intake-settings.ts";
import { PROBING_RULES, PROBING_SETTINGS } from "./probing/probing-settings.ts";
import { RECORD_KEY_RULES, RECORD_KEY_SETTINGS } from "./record-keys/settings.ts";
import { REPLICATION_SETTINGS } from "./replication/replication-settings.ts";
import { DEFAULT_METHOD_ORDER } from "@isochrone/topology";
import { COST_QUANTILES } from "@isochrone/topology/link-errors";

/** Panes of a window: samples leave it in steps of a thirtieth. */
const PANES = 30;

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
    paneMs: derived(
      ({ windowMs }: { readonly windowMs: number }) => windowMs / PANES,
      "It is a thirtieth of aggregator.windowMs.",
    ),
    fastPanes: constant(3, "The alerts' rules are made for three panes."),
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
    maxFutureMs: derived(
      ({ paneMs }: { readonly paneMs: number }) => Math.min(2_000, paneMs),
      "Clocks that are synchronized differ less than two seconds, and than a pane.",
    ),
    maxSeries: constant(1_000_000, "It is a bound for memory."),
    maxSeriesPerSource: constant(100_000, "It is a bound for what one publisher can cause."),
    maxSources: constant(16_384, "It is a bound for memory."),
    speakers: text({
      default: null,
      maxLength: 65_536,
      description:
        'Services that may send telemetry of others than their own node, as JSON: [{"account": "system:serviceaccount:otel:collector", "nodes": ["*"], "namespaces": ["shop"]}]. `nodes`: whose own usage and measurements; `namespaces`: whose pods\' usage, and the channels that begin or end there; "*" alone: all. `name` (default: the account) is how records on Kafka call it; a service that only writes to a topic of aggregator.foreignTopics has a name and no account. Everybody else speaks for the node of its token\'s pod only; see docs/security.md.',
    }),
    clusterNames: list({
      default: [],
      description:
        "Names of this cluster in telemetry: Istio's cluster, the label `cluster` of a Prometheus, OpenTelemetry's k8s.cluster.name. Series of another cluster are left out, and calls to one are traffic with the outside. None: each of them is detected, see docs/collecting.md.",
    }),
    maxLinks: constant(500_000, "It is a bound for memory."),
    maxChannels: constant(200_000, "It is a bound for memory."),
    meshNamespaces: list({
      default: ["istio-system"],
      pattern: /[a-z0-9](?:[-a-z0-9]*[a-z0-9])?/,
      patternRule: "must hold only names of namespaces",
      description:
        "Namespaces whose gateways and waypoints are believed about the other end of a channel, too. Everybody else's proxies speak for their own namespace: the other one's graphs show the channel once a proxy there reports it.",
    }),
    maxPods: constant(
      500_000,
      "It is a bound for memory; Kubernetes is tested with 150,000 pods in a cluster.",
    ),
    bodyLimitBytes: constant(4 * 1024 * 1024, "It is a bound for memory."),
    eventHistory: constant(600, "It is a bound for memory; clients that missed more read the whole graph."),
    historyMs: constant(3_600_000, "Longer histories are Prometheus' work."),
    historyBytes: constant(64 * 1024 * 1024, "In large clusters the history is thinned out to fit."),
    maxEventClients: constant(256, "It is a bound for what clients can cause."),
    eventClientBufferBytes: constant(
      1024 * 1024,
      "A client that is so far behind reads the whole graph instead.",
    ),
    ...PROBING_SETTINGS,
    ...INTAKE_SETTINGS,
    ...RECORD_KEY_SETTINGS,
    ...REPLICATION_SETTINGS,
    ...ACCESS_SETTINGS,
    ...DECLARATION_SETTINGS,
    bandwidthResource: constant(
      "network.aware.com/bandwidth",
      "KEP-260 names the extended resource by which nodes declare the capacity of their network.",
    ),
    istioRouting: flag({
      default: false,
      description:
        "Read how a mesh spreads traffic from Istio's DestinationRules, too: outlier detection with its locality settings makes callers prefer nearer replicas.",
    }),
    bandwidthMaxAgeMs: constant(1_800_000, "It is the time between two tests of a pair."),
    bandwidthCapacityWindowMs: constant(
      86_400_000,
      "A day has the quiet hours in which tests find the most.",
    ),
    coordinateIntervalMs: constant<number | null>(null, "It is half of aggregator.windowMs."),
    coordinateTimeoutMs: constant(120_000, "It is a bound for one fit."),
    decisionsUrl: text({
      default: null,
      pattern: /https?:\/\/\S+/,
      patternRule: "must be an http or https address",
      description:
        "Base address of the scheduler-plugin, whose decisions and plans are passed through; without it there are none.",
    }),
    pricesFile: constant(
      "/etc/isochrone/config/prices.yaml",
      "The chart puts its value prices there; without such a file prices are those that are built in.",
    ),
    outsideFile: constant(
      "/etc/isochrone/config/outside.yaml",
      "The chart puts its value outside there; without such a file nothing is known to be outside of the cluster.",
    ),
    decisionsTimeoutMs: constant(5000, "It is a bound for how long a page waits."),
    dumpFile: text({
      default: null,
      description:
        "Kubernetes Lists or objects (JSON, one after the other) that stand for the cluster, read once at start; without it the API server of the section kubernetes.",
    }),
  },
  {
    description: "Builds both graphs from what is on the bus, and serves them.",
    rules: [
      ({ windowMs, paneMs }) =>
        windowMs % paneMs === 0 && windowMs / paneMs <= 1000
          ? null
          : `aggregator.windowMs must be a multiple of its panes' length (${paneMs}), at most 1000 times it, got ${windowMs}`,
      ({ costMethods }) => checkMethods(costMethods),
      ...PROBING_RULES,
      speakersMistake,
      ...RECORD_KEY_RULES,
      ...ACCESS_RULES,
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
