import { ScrapedMetrics } from "@isochrone/runtime";
import { Counter, type Registry } from "prom-client";
import type { BandwidthStep } from "./domain/step.ts";

const STATES = ["current", "unknown", "foreign", "changed", "advertise", "withdraw"] as const;

interface BandwidthResourceMetrics {
  readonly writes: Counter<"result">;
}

export function createBandwidthResourceMetrics(
  registry: Registry,
  nodes: ReadonlyMap<BandwidthStep["kind"], number>,
): BandwidthResourceMetrics {
  new ScrapedMetrics(registry).gauges(
    "isochrone_bandwidth_resource_nodes",
    "Nodes by what the last check found of the bandwidth that they advertise; advertise and withdraw were to be written.",
    ["state"],
    () => STATES.map((state) => [{ state }, nodes.get(state) ?? 0]),
  );
  return {
    writes: new Counter({
      name: "isochrone_bandwidth_resource_writes_total",
      help: "Writes of nodes' advertised bandwidth; conflict: the node had changed, and it is tried again.",
      labelNames: ["result"],
      registers: [registry],
    }),
  };
}
