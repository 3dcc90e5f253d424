import { ScrapedMetrics } from "@isochrone/runtime";
import { Counter, Histogram, type Registry } from "prom-client";
import type { Intake } from "./intake/intake.ts";
import type { GraphKeeper } from "./domain/graphs/graph-keeper.ts";
import type { Tables } from "./domain/graphs/tables.ts";

/** Limit of sources with a skew metric, because each is a label value. */
const MAX_SKEW_SOURCES = 5000;

interface MetricSources {
  readonly intake: Intake;
  readonly tables: Tables;
  readonly graphAgeMs: () => number | null;
  readonly eventClients: () => number;
  readonly ambiguousNames: () => number;
  readonly refusedDeclarations: () => ReadonlyMap<string, number>;
  readonly graphs: Pick<GraphKeeper, "newest" | "departures">;
}

/** Metrics that are updated by calls instead of read at scrapes. */
export interface AggregatorMetrics {
  readonly buildSeconds: Histogram;
  readonly buildFailures: Counter;
  readonly eventClientsDropped: Counter<"reason">;
  readonly httpRefused: Counter<"reason">;
}

/** Reads counts at scrape time, so that the hot path only increments plain numbers. */
export function createAggregatorMetrics(registry: Registry, sources: MetricSources): AggregatorMetrics {
  const registers = [registry];
  const scraped = new ScrapedMetrics(registry);
  registerCounts(scraped, sources.intake);
  registerSizes(scraped, sources);
  return {
    buildSeconds: new Histogram({
      name: "isochrone_aggregator_build_duration_seconds",
      help: "Time to build both graphs in both windows.",
      buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
      registers,
    }),
    buildFailures: new Counter({
      name: "isochrone_aggregator_build_failures_total",
      help: "Builds that failed; the graph before stays.",
      registers,
    }),
    httpRefused: new Counter({
      name: "isochrone_aggregator_http_refused_total",
      help: "Requests to the OTLP/HTTP ingest that were refused as a whole.",
      labelNames: ["reason"],
      registers,
    }),
    eventClientsDropped: new Counter({
      name: "isochrone_aggregator_event_clients_dropped_total",
      help: "Clients of the event stream that were cut off or not let in.",
      labelNames: ["reason"],
      registers,
    }),
  };
}

function registerCounts(scraped: ScrapedMetrics, intake: Intake): void {
  const { counts } = intake;
  const plain: readonly (readonly [string, string, () => number])[] = [
    ["isochrone_aggregator_records_total", "Records taken off the bus.", () => counts.records],
    ["isochrone_aggregator_points_total", "Points that were in time and new.", () => counts.points],
    [
      "isochrone_aggregator_points_ignored_total",
      "Points of a form that their metric isn't read in.",
      () => counts.ignored,
    ],
    ["isochrone_aggregator_too_late_total", "Points older than the window.", () => counts.tooLate],
    [
      "isochrone_aggregator_duplicate_records_total",
      "Records that came again.",
      () => counts.duplicateRecords,
    ],
    [
      "isochrone_aggregator_duplicate_points_total",
      "Points of foreign records that came again.",
      () => counts.duplicatePoints,
    ],
    [
      "isochrone_aggregator_publisher_dropped_total",
      "Records that publishers say they dropped.",
      () => intake.droppedRecords,
    ],
    [
      "isochrone_records_missing_total",
      "Records that a publisher numbered and that never came.",
      () => intake.missingRecords,
    ],
  ];
  for (const [name, help, read] of plain) scraped.counter(name, help, read);
  scraped.counters(
    "isochrone_aggregator_refused_total",
    "Points or records that were refused.",
    ["reason"],
    () => byReason(Object.entries(counts.refused)),
  );
  scraped.counters(
    "isochrone_aggregator_unused_total",
    "Points that no graph is drawn from.",
    ["reason"],
    () => byReason(Object.entries(counts.unused)),
  );
  scraped.counters(
    "isochrone_aggregator_connection_bytes_total",
    "Bytes of connections between pods on two nodes, by the end whose node counted them: both should agree.",
    ["end"],
    () => Object.entries(counts.connectionBytes).map(([end, bytes]) => [{ end }, bytes]),
  );
}

function byReason(
  counts: Iterable<readonly [string, number]>,
): (readonly [{ readonly reason: string }, number])[] {
  return Array.from(counts, ([reason, count]) => [{ reason }, count]);
}

function registerSizes(
  scraped: ScrapedMetrics,
  { intake, tables, graphAgeMs, eventClients, ambiguousNames, refusedDeclarations, graphs }: MetricSources,
): void {
  const sizes: readonly (readonly [string, string, () => number])[] = [
    ["isochrone_aggregator_series", "Series in memory.", () => intake.series],
    ["isochrone_aggregator_links", "Links in memory.", () => tables.links.size],
    [
      "isochrone_aggregator_bandwidth_pairs",
      "Pairs with a bandwidth test in memory.",
      () => tables.bandwidth.size,
    ],
    ["isochrone_aggregator_channels", "Channels in memory.", () => tables.channels.size],
    ["isochrone_aggregator_pods", "Pods with usage in memory.", () => tables.pods.size],
    ["isochrone_aggregator_event_clients", "Clients of the event stream.", eventClients],
    [
      "isochrone_aggregator_ambiguous_names",
      "Names in use by traffic sources that several workloads have, by labels or owners. Their traffic is no workload's; the log names them.",
      ambiguousNames,
    ],
    [
      "isochrone_aggregator_graph_age_seconds",
      "Age of the newest graph; NaN before the first.",
      () => (graphAgeMs() ?? Number.NaN) / 1000,
    ],
  ];
  for (const [name, help, read] of sizes) scraped.gauge(name, help, read);
  scraped.gauges(
    "isochrone_node_down",
    "1 for each node that isn't ready, or that is ready and silent: no peer gets an answer from it. Nodes that are up have no series.",
    ["node", "cause"],
    () =>
      (graphs.newest?.nodes ?? []).flatMap(({ name, down }) =>
        down ? [[{ node: name, cause: down.cause }, 1] as const] : [],
      ),
  );
  scraped.gauges(
    "isochrone_aggregator_declarations_refused",
    "Declared channels that are left out now, for what they name or because there are too many; what isn't read counts as one. `unmatched` counts AppGroups' selectors that no pod and no pod template carries.",
    ["reason"],
    () => byReason(refusedDeclarations()),
  );
  scraped.gauges(
    "isochrone_aggregator_departed_pairs",
    "Pairs of nodes that are slower than their baseline (latency), or lose more packets (loss).",
    ["kind"],
    () => Object.entries(graphs.departures.counts).map(([kind, pairs]) => [{ kind }, pairs]),
  );
  scraped.counter(
    "isochrone_aggregator_bandwidth_refused_total",
    "Bandwidth tests whose rate can't be: 0, or beyond every network.",
    () => intake.refusedRates,
  );
  scraped.counter(
    "isochrone_aggregator_graph_figures_dropped_total",
    "Figures that graphs show as unknown because their schema would refuse them. Ingest refuses such values before: above 0 is a fault of the aggregator.",
    () => tables.figures.dropped,
  );
  scraped.gauges(
    "isochrone_aggregator_source_clock_skew_seconds",
    "Arrival less sent-at of a source's records, the least of its newest eight: the error of its clock, and the least delay of the way.",
    ["source"],
    () =>
      Array.from(intake.clocks())
        .slice(0, MAX_SKEW_SOURCES)
        .map(([source, { offsetMs }]) => [{ source }, offsetMs / 1000] as const),
  );
}
