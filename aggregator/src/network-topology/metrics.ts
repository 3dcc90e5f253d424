import type { DeclaredCosts } from "@isochrone/topology";
import { Counter, Gauge, type Registry } from "prom-client";
import { LATENCY_FAULTS, type LatencyUse, type ReadLatencies } from "../domain/graphs/node-latencies.ts";

/** Why the NetworkTopology isn't being written, although it should be. */
const TOPOLOGY_FAULTS = ["changed_by_another", "invalid_scale", "unavailable"] as const;
export type TopologyFault = (typeof TOPOLOGY_FAULTS)[number];

/** What happened to a write. */
export type TopologyWriteResult = "created" | "updated" | "conflict" | "failed";

export interface NetworkTopologyMetrics {
  readonly writes: Counter<"result">;
}

/** What the metrics are read from when they are scraped. */
interface NetworkTopologyMetricSources {
  readonly fault: () => TopologyFault | null;
  readonly pairs: () => number;
}

export function createNetworkTopologyMetrics(
  registry: Registry,
  sources: NetworkTopologyMetricSources,
): NetworkTopologyMetrics {
  const registers = [registry];
  const faults: Gauge<"reason"> = new Gauge({
    name: "isochrone_network_topology_fault",
    help: "1 while the NetworkTopology isn't written for this reason.",
    labelNames: ["reason"],
    registers,
    collect(): void {
      const fault = sources.fault();
      for (const reason of TOPOLOGY_FAULTS) faults.set({ reason }, reason === fault ? 1 : 0);
    },
  });
  const pairs: Gauge = new Gauge({
    name: "isochrone_network_topology_pairs",
    help: "Ordered pairs of regions, zones and segments whose cost is written.",
    registers,
    collect: () => pairs.set(sources.pairs()),
  });
  return {
    writes: new Counter({
      name: "isochrone_network_topology_writes_total",
      help: "Writes of the NetworkTopology; conflict: somebody else was ahead, and it is tried again.",
      labelNames: ["result"],
      registers,
    }),
  };
}

export function createDeclaredCostsMetrics(registry: Registry, current: () => DeclaredCosts | null): void {
  const pairs: Gauge = new Gauge({
    name: "isochrone_network_topology_declared_pairs",
    help: "Ordered pairs of zones and regions whose cost was read from the declared weights of the NetworkTopology.",
    registers: [registry],
    collect: () => {
      const { zones, regions } = current() ?? { zones: [], regions: [] };
      pairs.set(zones.length + regions.length);
    },
  });
}

export function createLatencyMetrics(
  registry: Registry,
  current: () => ReadLatencies,
  use: () => LatencyUse,
): void {
  const entries: Gauge<"state"> = new Gauge({
    name: "isochrone_network_topology_latencies",
    help: "Latencies of the ConfigMap of another component: pairs that they are the cost of (used), whose own measurement goes before (measured), of nodes that the cluster doesn't have (unknown_node), and entries that were left out (bad_key, bad_value; too_large: all of it).",
    labelNames: ["state"],
    registers: [registry],
    collect: () => {
      const { used, measured, unknownNode } = use();
      entries.set({ state: "used" }, used);
      entries.set({ state: "measured" }, measured);
      entries.set({ state: "unknown_node" }, unknownNode);
      for (const fault of LATENCY_FAULTS) entries.set({ state: fault }, current().faults[fault]);
    },
  });
}
