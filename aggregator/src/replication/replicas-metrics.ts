import type { Leadership } from "@isochrone/kubernetes";
import { ScrapedMetrics } from "@isochrone/runtime";
import { Counter, type Registry } from "prom-client";
import type { ReportRelay } from "../http/forward-reports.ts";
import { FORWARD_FAILURES, type ForwardFailure } from "../http/forward.ts";
import type { Replicas } from "./replicas.ts";

interface ReplicaMetricSources {
  readonly leadership: Leadership;
  readonly replicas: Replicas;
  readonly relay: ReportRelay;
}

interface ReplicaMetrics {
  readonly onForwardFailed: (failure: ForwardFailure) => void;
}

export function createReplicaMetrics(
  registry: Registry,
  sources: () => ReplicaMetricSources,
): ReplicaMetrics {
  const gauges: readonly (readonly [string, string, () => number])[] = [
    [
      "isochrone_aggregator_leader",
      "1 on the replica that does what only one may do; the sum over all replicas is 1 but for seconds after one was lost.",
      () => (sources().leadership.isLeader() ? 1 : 0),
    ],
    [
      "isochrone_aggregator_live_replicas",
      "Replicas with a lease that holds, as this one sees them, itself included.",
      () => sources().replicas.liveReplicas().length,
    ],
    [
      "isochrone_aggregator_key_reports_waiting",
      "Nodes whose report of keys waits to be passed on to the leader.",
      () => sources().relay.waiting,
    ],
  ];
  const scraped = new ScrapedMetrics(registry);
  for (const [name, help, read] of gauges) scraped.gauge(name, help, read);
  scraped.counter(
    "isochrone_aggregator_key_reports_dropped_total",
    "Reports of keys that found no leader in time; their probes report again.",
    () => sources().relay.dropped,
  );
  const failures = new Counter({
    name: "isochrone_aggregator_forward_failures_total",
    help: "Requests for the leader, of clients and of this replica, that got no answer of it.",
    labelNames: ["reason"],
    registers: [registry],
  });
  for (const reason of FORWARD_FAILURES) failures.inc({ reason }, 0);
  return { onForwardFailed: (reason) => failures.inc({ reason }) };
}
