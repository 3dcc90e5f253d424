import type { Clock } from "@isochrone/runtime";
import { Counter, Gauge, type Registry } from "prom-client";
import type { BandwidthLeases } from "../domain/bandwidth/bandwidth-leases.ts";
import type { AssignmentFigures } from "./domain/peer-assignment.ts";
import type { KeyKeeper } from "../keys/key-keeper.ts";

/** What the metrics of probing are read from when they are scraped. */
interface ProbingMetricSources {
  readonly figures: () => AssignmentFigures;
  readonly clock: Clock;
  readonly leases: BandwidthLeases;
  readonly keys: KeyKeeper | null;
}

/** Those that are told, not read. */
export interface ProbingMetrics {
  readonly leasesGranted: Counter;
  readonly leasesDenied: Counter<"reason">;
}

/** Figures of large clusters are worth keeping for the other metrics of the same scrape. */
const FIGURES_MAX_AGE_MS = 1_000;

/** Registers the metrics of plans, keys and leases. */
export function createProbingMetrics(registry: Registry, sources: ProbingMetricSources): ProbingMetrics {
  registerPlans(registry, sources);
  registerLeases(registry, sources);
  if (sources.keys !== null) registerKeys(registry, sources.keys);
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

function registerPlans(registry: Registry, { figures: read, clock }: ProbingMetricSources): void {
  let known: { readonly figures: AssignmentFigures; readonly atMs: number } | null = null;
  const figures = (): AssignmentFigures => {
    const nowMs = clock.monotonic();
    if (known === null || nowMs - known.atMs > FIGURES_MAX_AGE_MS) known = { figures: read(), atMs: nowMs };
    return known.figures;
  };
  gauge(
    registry,
    "isochrone_aggregator_probe_pairs",
    "Ordered pairs of nodes that the plans probe.",
    () => figures().pairs,
  );
  gauge(
    registry,
    "isochrone_aggregator_probe_max_in_degree",
    "Most nodes that probe one node.",
    () => figures().maxInDegree,
  );
  const uncovered: Gauge<"reason"> = new Gauge({
    name: "isochrone_aggregator_probe_uncovered_zones",
    help: "Pairs of a node and another zone in which it probes nobody, whose links can only be estimated.",
    labelNames: ["reason"],
    registers: [registry],
    collect(): void {
      const { inDegree, maxZones } = figures().uncovered;
      uncovered.set({ reason: "in_degree" }, inDegree);
      uncovered.set({ reason: "max_zones" }, maxZones);
    },
  });
}

function registerLeases(registry: Registry, { leases, clock }: ProbingMetricSources): void {
  gauge(
    registry,
    "isochrone_aggregator_bandwidth_leases_active",
    "Leases of bandwidth tests that are out.",
    () => leases.active(clock.monotonic()),
  );
  counter(
    registry,
    "isochrone_aggregator_bandwidth_leases_expired_total",
    "Leases that weren't given back and ended by themselves.",
    () => leases.expired,
  );
}

function registerKeys(registry: Registry, keys: KeyKeeper): void {
  gauge(
    registry,
    "isochrone_aggregator_probe_keys",
    "Keys that probes verify packets with.",
    () => keys.keys,
  );
  gauge(
    registry,
    "isochrone_aggregator_probe_key_awaited_probes",
    "Probes that the replacement of a key waits for.",
    () => keys.awaited.length,
  );
  counter(
    registry,
    "isochrone_aggregator_probe_key_rotations_total",
    "Keys that were replaced by the next one.",
    () => keys.counts.rotations,
  );
  counter(
    registry,
    "isochrone_aggregator_probe_key_unconfirmed_total",
    "Probes that did not confirm a key in time; its replacement went on without them.",
    () => keys.counts.unconfirmed,
  );
  const failures = new Counter({
    name: "isochrone_aggregator_probe_key_store_failures_total",
    help: "Reads and writes of the store of keys that failed, and writes that somebody else was ahead of.",
    labelNames: ["reason"],
    registers: [registry],
    collect(): void {
      failures.reset();
      failures.inc({ reason: "read" }, keys.counts.readFailures);
      failures.inc({ reason: "write" }, keys.counts.writeFailures);
      failures.inc({ reason: "conflict" }, keys.counts.conflicts);
    },
  });
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  const metric: Gauge = new Gauge({ name, help, registers: [registry], collect: () => metric.set(read()) });
}

function counter(registry: Registry, name: string, help: string, read: () => number): void {
  const metric: Counter = new Counter({
    name,
    help,
    registers: [registry],
    collect(): void {
      metric.reset();
      metric.inc(read());
    },
  });
}
