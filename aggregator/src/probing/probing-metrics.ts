import { ScrapedMetrics, type Clock } from "@isochrone/runtime";
import { Counter, type Registry } from "prom-client";
import type { BandwidthLeases } from "../domain/bandwidth/bandwidth-leases.ts";
import type { AssignmentFigures } from "./domain/peer-assignment.ts";
import { storeFailures, type KeyKeeper } from "../keys/key-keeper.ts";

interface ProbingMetricSources {
  readonly figures: () => AssignmentFigures;
  readonly clock: Clock;
  readonly leases: BandwidthLeases;
  readonly keys: KeyKeeper | null;
}

export interface ProbingMetrics {
  readonly leasesGranted: Counter;
  readonly leasesDenied: Counter<"reason">;
}

/** Caches figures within one scrape, because they are expensive for large clusters. */
const FIGURES_MAX_AGE_MS = 1_000;

export function createProbingMetrics(registry: Registry, sources: ProbingMetricSources): ProbingMetrics {
  const scraped = new ScrapedMetrics(registry);
  registerPlans(scraped, sources);
  registerLeases(scraped, sources);
  if (sources.keys !== null) registerKeys(scraped, sources.keys);
  const registers = [registry];
  return {
    leasesGranted: new Counter({
      name: "isochrone_aggregator_bandwidth_leases_granted_total",
      help: "Leases of bandwidth tests that were given.",
      registers,
    }),
    leasesDenied: new Counter({
      name: "isochrone_aggregator_bandwidth_leases_denied_total",
      help: "Requests for a lease that were put off.",
      labelNames: ["reason"],
      registers,
    }),
  };
}

function registerPlans(scraped: ScrapedMetrics, { figures: read, clock }: ProbingMetricSources): void {
  let known: { readonly figures: AssignmentFigures; readonly atMs: number } | null = null;
  const figures = (): AssignmentFigures => {
    const nowMs = clock.monotonic();
    if (known === null || nowMs - known.atMs > FIGURES_MAX_AGE_MS) known = { figures: read(), atMs: nowMs };
    return known.figures;
  };
  scraped.gauge(
    "isochrone_aggregator_probe_pairs",
    "Ordered pairs of nodes that the plans probe.",
    () => figures().pairs,
  );
  scraped.gauge(
    "isochrone_aggregator_probe_max_in_degree",
    "Most nodes that probe one node.",
    () => figures().maxInDegree,
  );
  scraped.gauges(
    "isochrone_aggregator_probe_uncovered_zones",
    "Pairs of a node and another zone in which it probes nobody, whose links can only be estimated.",
    ["reason"],
    () => {
      const { inDegree, maxZones } = figures().uncovered;
      return [
        [{ reason: "in_degree" }, inDegree],
        [{ reason: "max_zones" }, maxZones],
      ];
    },
  );
}

function registerLeases(scraped: ScrapedMetrics, { leases, clock }: ProbingMetricSources): void {
  scraped.gauge(
    "isochrone_aggregator_bandwidth_leases_active",
    "Leases of bandwidth tests that are out.",
    () => leases.active(clock.monotonic()),
  );
  scraped.counter(
    "isochrone_aggregator_bandwidth_leases_expired_total",
    "Leases that weren't given back and ended by themselves.",
    () => leases.expired,
  );
}

function registerKeys(scraped: ScrapedMetrics, keys: KeyKeeper): void {
  scraped.gauge("isochrone_aggregator_probe_keys", "Keys that probes verify packets with.", () => keys.keys);
  scraped.gauge(
    "isochrone_aggregator_probe_key_awaited_probes",
    "Probes that the replacement of a key waits for.",
    () => keys.awaited.length,
  );
  scraped.counter(
    "isochrone_aggregator_probe_key_rotations_total",
    "Keys that were replaced by the next one.",
    () => keys.counts.rotations,
  );
  scraped.counter(
    "isochrone_aggregator_probe_key_unconfirmed_total",
    "Probes that did not confirm a key in time; its replacement went on without them.",
    () => keys.counts.unconfirmed,
  );
  scraped.counters(
    "isochrone_aggregator_probe_key_store_failures_total",
    "Reads and writes of the store of keys that failed, and writes that somebody else was ahead of.",
    ["reason"],
    () => storeFailures(keys.counts),
  );
}
