import type { FastifyInstance } from "fastify";
import { HealthSchema, ProblemSchema, type Health, type ReplicaHealth } from "@isochrone/topology";
import type { Readiness } from "@isochrone/runtime/http";
import type { Registry } from "prom-client";
import { Type, type Static } from "typebox";
import type { RecentRefusals } from "../domain/graphs/recent-refusals.ts";
import type { GraphKeeper } from "../domain/graphs/graph-keeper.ts";
import type { OwnCluster } from "../domain/ingest/own-cluster.ts";
import type { RecentUnused } from "../domain/ingest/recent-unused.ts";
import type { Unused } from "../domain/ingest/sink.ts";
import { NOTHING_ELSE } from "./query.ts";
import { ofHealth, type ReplicaHealths } from "./replica-healths.ts";

export interface HealthSources {
  readonly registry: Registry;
  readonly keeper: GraphKeeper;
  readonly replica: string | null;
  readonly nowMs: () => number;
  /** Null: this is the only replica. */
  readonly replication: { readonly healths: Pick<ReplicaHealths, "others"> } | null;
  readonly refusals: Pick<RecentRefusals, "list">;
  readonly unused: Pick<RecentUnused, "list">;
  readonly clusters: Pick<OwnCluster, "list">;
  ready(): Readiness;
}

const HealthQuery = Type.Object(
  {
    replicas: Type.Optional(
      Type.Literal("all", { description: "Also what every other live replica says of itself" }),
    ),
  },
  NOTHING_ELSE,
);
type HealthQuery = Static<typeof HealthQuery>;

const MAX_CLOCKS = 20;
const MAX_CLUSTERS = 20;

/** Remedies for unused points, shown by doctor and page. */
const UNUSED_REMEDIES: Readonly<Record<Unused, string>> = {
  unattributed:
    "Neither end of a call, or no pod or node, is named: give the source the labels that docs/traffic-sources.md lists.",
  other_cluster:
    "They are of another cluster. If one of its names is this cluster's, add it to aggregator.clusterNames; else ask for this cluster's series alone (collector.prometheusMatchers).",
  unknown_pod:
    "No pod of the cluster has the name or address: list the ranges of pods, Services and nodes in the chart's value outside, and leave out series of other clusters.",
  unknown_node:
    "The cluster has no such node: the label of the node must have the name of its Node object, not an address.",
  unclear_interface:
    "Nothing says whether the interface is one of the node's own cards: run the probe there with probe.hostNetwork (docs/collecting.md).",
  sampling_unset: "Give the agent's rows their sampling factor (docs/traffic-sources.md).",
  too_many_links: "There is no room for more links: probe fewer peers, or by fewer methods.",
  too_many_channels: "There is no room for more channels: see which source names so many workloads.",
  too_many_pods: "There is no room for more pods: leave out series of other clusters.",
  unknown_metric: "Nothing reads these metrics, or not as this type: a sender need not send them.",
};

/** Registers `GET /api/v1/health`: the key figures for people. /metrics has all figures. */
export function registerHealthRoute(app: FastifyInstance, sources: HealthSources): void {
  app.get<{ Querystring: HealthQuery }>(
    "/api/v1/health",
    {
      schema: {
        summary: "How this aggregator is: freshness, what was dropped, replicas and their lag",
        querystring: HealthQuery,
        response: { 200: HealthSchema, 400: ProblemSchema },
      },
    },
    async ({ query, headers }, reply) => {
      const { replication } = sources;
      const [own, others] = await Promise.all([
        healthOf(sources),
        query.replicas === "all" ? (replication?.healths.others(headers.authorization) ?? []) : null,
      ]);
      return reply
        .header("cache-control", "no-store")
        .send(others === null ? own : { ...own, replicas: { ...own.replicas, all: allOf(own, others) } });
    },
  );
}

function allOf(own: Health, others: readonly ReplicaHealth[]): ReplicaHealth[] {
  return [ofHealth(own.replicas.replica ?? "the only one", own), ...others];
}

interface Reading {
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
  readonly metricName?: string;
}

/** Reads metrics by name. Null: not registered, such as metrics of several replicas. */
class Readings {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async all(name: string): Promise<readonly Reading[]> {
    const metric = this.#registry.getSingleMetric(`isochrone_${name}`);
    return metric === undefined ? [] : (await metric.get()).values;
  }

  async maybe(name: string): Promise<number | null> {
    const values = await this.all(name);
    const sum = values.reduce((total, { value }) => total + value, 0);
    return values.length === 0 || !Number.isFinite(sum) ? null : sum;
  }

  async sum(name: string): Promise<number> {
    return (await this.maybe(name)) ?? 0;
  }

  async by(name: string, label: string): Promise<Record<string, number>> {
    return Object.fromEntries(
      (await this.all(name)).map(({ labels, value }) => [String(labels[label]), value]),
    );
  }

  async mean(name: string): Promise<number | null> {
    const values = await this.all(name);
    const of = (suffix: string): number =>
      values.find(({ metricName }) => metricName === `isochrone_${name}_${suffix}`)?.value ?? 0;
    return of("count") === 0 ? null : of("sum") / of("count");
  }
}

async function healthOf(sources: HealthSources): Promise<Health> {
  const { registry, keeper, replica } = sources;
  const readings = new Readings(registry);
  const { newest } = keeper;
  const now = sources.nowMs();
  const readiness = sources.ready();
  return {
    observedAt: new Date(now).toISOString(),
    ready: readiness.ready,
    reasons: [...readiness.reasons],
    version: newest?.version ?? null,
    graphAgeSeconds: newest === null ? null : (now - newest.builtAtMs) / 1000,
    buildFailures: await readings.sum("aggregator_build_failures_total"),
    intake: {
      ...(await intakeOf(readings)),
      refusedNow: sources.refusals.list(now),
      unusedNow: sources.unused.list(now).map((one) => ({ ...one, remedy: UNUSED_REMEDIES[one.reason] })),
      clusters: sources.clusters.list().slice(0, MAX_CLUSTERS),
    },
    sizes: {
      series: await readings.sum("aggregator_series"),
      links: await readings.sum("aggregator_links"),
      channels: await readings.sum("aggregator_channels"),
      pods: await readings.sum("aggregator_pods"),
      eventClients: await readings.sum("aggregator_event_clients"),
      ambiguousNames: await readings.sum("aggregator_ambiguous_names"),
    },
    probing: {
      plannedPairs: await readings.maybe("aggregator_probe_pairs"),
      uncoveredZones: await readings.maybe("aggregator_probe_uncovered_zones"),
    },
    sampleAgeSeconds: await readings.mean("aggregator_sample_age_seconds"),
    replicas: await replicasOf(readings, replica),
    departures: keeper.departures,
    clocks: await clocksOf(readings),
  };
}

async function intakeOf(
  readings: Readings,
): Promise<Omit<Health["intake"], "clusters" | "refusedNow" | "unusedNow">> {
  return {
    records: await readings.sum("aggregator_records_total"),
    points: await readings.sum("aggregator_points_total"),
    missing: await readings.sum("records_missing_total"),
    publisherDropped: await readings.sum("aggregator_publisher_dropped_total"),
    tooLate: await readings.sum("aggregator_too_late_total"),
    duplicates:
      (await readings.sum("aggregator_duplicate_records_total")) +
      (await readings.sum("aggregator_duplicate_points_total")),
    deadLetters: await readings.sum("aggregator_dead_letters_total"),
    refused: await readings.by("aggregator_refused_total", "reason"),
    unused: await readings.by("aggregator_unused_total", "reason"),
  };
}

async function replicasOf(readings: Readings, replica: string | null): Promise<Health["replicas"]> {
  const leader = await readings.maybe("aggregator_leader");
  return {
    replica,
    live: await readings.maybe("aggregator_live_replicas"),
    isLeader: leader === null ? null : leader > 0,
    lag: (await readings.all("consumer_lag_records")).map(({ labels, value }) => ({
      topic: String(labels["topic"]),
      partition: String(labels["partition"]),
      records: value,
    })),
  };
}

async function clocksOf(readings: Readings): Promise<Health["clocks"]> {
  const clocks = (await readings.all("aggregator_source_clock_skew_seconds")).map(({ labels, value }) => ({
    source: String(labels["source"]),
    skewSeconds: value,
  }));
  return clocks.sort((a, b) => Math.abs(b.skewSeconds) - Math.abs(a.skewSeconds)).slice(0, MAX_CLOCKS);
}
