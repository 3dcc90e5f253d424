import { routingScopes, type Channel, type ClusterGraph, type WorkflowGraph } from "@isochrone/topology";
import { bytesPerSecondOf, type RequestValue } from "./channel-traffic.ts";
import { Proximity, type Place } from "./routing.ts";

interface WorkflowLatency {
  readonly bytesPerSecond: number;
  /** Mean round trip weighted by traffic, milliseconds. Null: no traffic. */
  readonly ms: number | null;
  /** Traffic with an unplaced end or unknown cost. */
  readonly unknownBytesPerSecond: number;
}

/**
 * Mean round trip in ms: sum of rate x cost over sum of rates. Equals the planner's network cost per byte.
 * @param bytesPerRequest 0: requests don't count
 */
export function workflowLatency(
  cluster: ClusterGraph,
  workflow: WorkflowGraph,
  bytesPerRequest: number,
): WorkflowLatency {
  const value = valueOf(bytesPerRequest);
  const places = new Map<string, readonly Place[]>();
  const placesOf = (workload: string): readonly Place[] => {
    let found = places.get(workload);
    if (found === undefined) places.set(workload, (found = placesIn(cluster, workflow, workload)));
    return found;
  };
  let bytesPerSecond = 0;
  let bytesTimesMs = 0;
  let unknownBytesPerSecond = 0;
  for (const channel of workflow.channels) {
    const rate = bytesPerSecondOf(channel, value) ?? 0;
    if (rate === 0) continue;
    const { known, ms } = channelMean(cluster, channel, placesOf(channel.source), placesOf(channel.target));
    bytesPerSecond += rate * known;
    bytesTimesMs += rate * known * ms;
    unknownBytesPerSecond += rate * (1 - known);
  }
  return {
    bytesPerSecond,
    ms: bytesPerSecond > 0 ? bytesTimesMs / bytesPerSecond : null,
    unknownBytesPerSecond,
  };
}

/** Traffic of a workflow, bytes/s. Cheap: needs no costs. */
export function workflowTraffic(workflow: WorkflowGraph, bytesPerRequest: number): number {
  const value = valueOf(bytesPerRequest);
  return workflow.channels.reduce((sum, channel) => sum + (bytesPerSecondOf(channel, value) ?? 0), 0);
}

function valueOf(bytesPerRequest: number): RequestValue {
  return bytesPerRequest > 0
    ? { bytesPerRequest }
    : { bytesPerRequest: null, reason: "bytesPerRequest is 0" };
}

function channelMean(
  cluster: ClusterGraph,
  channel: Channel,
  sources: readonly Place[],
  targets: readonly Place[],
): { readonly known: number; readonly ms: number } {
  const scopes = routingScopes(channel);
  const proximity = scopes === null ? null : new Proximity(cluster, scopes);
  let share = 0;
  let sum = 0;
  for (const source of sources) {
    const reached = proximity === null ? targets : proximity.nearest(source, targets);
    const part = 1 / (sources.length * reached.length);
    for (const target of reached) {
      if (source.id < 0 || target.id < 0) continue;
      const ms = cluster.costMsById(source.id, target.id);
      if (!Number.isFinite(ms)) continue;
      share += part;
      sum += part * ms;
    }
  }
  // Rounding can exceed 1.
  return { known: Math.min(1, share), ms: share > 0 ? sum / share : 0 };
}

function placesIn(cluster: ClusterGraph, workflow: WorkflowGraph, workload: string): Place[] {
  const nodes = [...workflow.replicas(workload).values()].filter((node) => node !== null);
  return nodes.map((name) => ({ name, id: cluster.idOf(name) }));
}
