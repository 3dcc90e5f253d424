import type { DeclaredCosts } from "@isochrone/topology";
import { ScrapedMetrics } from "@isochrone/runtime";
import { Counter, type Registry } from "prom-client";
import { LATENCY_FAULTS, type LatencyUse, type ReadLatencies } from "../domain/graphs/node-latencies.ts";

const TOPOLOGY_FAULTS = ["changed_by_another", "invalid_scale", "unavailable"] as const;
export type TopologyFault = (typeof TOPOLOGY_FAULTS)[number];

export type TopologyWriteResult = "created" | "updated" | "conflict" | "failed";

export interface NetworkTopologyMetrics {
  readonly writes: Counter<"result">;
}

interface NetworkTopologyMetricSources {
  readonly fault: () => TopologyFault | null;
  readonly pairs: () => number;
}

export function createNetworkTopologyMetrics(
  registry: Registry,
  sources: NetworkTopologyMetricSources,
): NetworkTopologyMetrics {
  const scraped = new ScrapedMetrics(registry);
  scraped.gauges(
    "isochrone_network_topology_fault",
    "1 while the NetworkTopology isn't written for this reason.",
    ["reason"],
    () => TOPOLOGY_FAULTS.map((reason) => [{ reason }, reason === sources.fault() ? 1 : 0]),
  );
  scraped.gauge(
    "isochrone_network_topology_pairs",
    "Ordered pairs of regions, zones and segments whose cost is written.",
    sources.pairs,
  );
  return {
    writes: new Counter({
      name: "isochrone_network_topology_writes_total",
      help: "Writes of the NetworkTopology; conflict: somebody else was ahead, and it is tried again.",
      labelNames: ["result"],
      registers: [registry],
    }),
  };
}

export function createDeclaredCostsMetrics(registry: Registry, current: () => DeclaredCosts | null): void {
  new ScrapedMetrics(registry).gauge(
    "isochrone_network_topology_declared_pairs",
    "Ordered pairs of zones and regions whose cost was read from the declared weights of the NetworkTopology.",
    () => {
      const { zones, regions } = current() ?? { zones: [], regions: [] };
      return zones.length + regions.length;
    },
  );
}

export function createLatencyMetrics(
  registry: Registry,
  current: () => ReadLatencies,
  use: () => LatencyUse,
): void {
  new ScrapedMetrics(registry).gauges(
    "isochrone_network_topology_latencies",
    "Latencies of the ConfigMap of another component: pairs that they are the cost of (used), whose own measurement goes before (measured), of nodes that the cluster doesn't have (unknown_node), and entries that were left out (bad_key, bad_value; too_large: all of it).",
    ["state"],
    () => {
      const { used, measured, unknownNode } = use();
      return [
        [{ state: "used" }, used],
        [{ state: "measured" }, measured],
        [{ state: "unknown_node" }, unknownNode],
        ...LATENCY_FAULTS.map((state) => [{ state }, current().faults[state]] as const),
      ];
    },
  );
}
