// What a workflow's placement means for its traffic, as one figure that people can follow over time.
import { routingScopes, type Channel, type ClusterGraph, type WorkflowGraph } from "@isochrone/topology";
import { bytesPerSecondOf, type RequestValue } from "./channel-traffic.ts";
import { Proximity, type Place } from "./routing.ts";

/** What the graphs say of all channels of a workflow together. */
interface WorkflowLatency {
  /**
   * Of channels whose both ends are placed and whose cost is known; requests are valued at bytesPerRequest.
   */
  readonly bytesPerSecond: number;
  /** Mean round trip over that traffic, milliseconds; null without any. */
  readonly ms: number | null;
  /** Traffic that the mean leaves out: an end isn't placed, or a cost isn't known. */
  readonly unknownBytesPerSecond: number;
}

/**
 * Mean round trip that a workflow's traffic takes where its pods are now: sum of rate x cost over sum of
 * rates, each channel's rate divided among its replica pairs as the channel is routed. It is the planner's
 * network cost by the byte.
 *
 * @param bytesPerRequest what a request counts as where nobody counts bytes; 0: nothing
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

/**
 * Traffic of all channels of a workflow, bytes/s, whether their costs are known or not: costs little.
 * @param bytesPerRequest as above
 */
export function workflowTraffic(workflow: WorkflowGraph, bytesPerRequest: number): number {
  const value = valueOf(bytesPerRequest);
  return workflow.channels.reduce((sum, channel) => sum + (bytesPerSecondOf(channel, value) ?? 0), 0);
}

function valueOf(bytesPerRequest: number): RequestValue {
  return bytesPerRequest > 0
    ? { bytesPerRequest }
    : { bytesPerRequest: null, reason: "bytesPerRequest is 0" };
}

/** Share of the channel's traffic whose cost is known, and its mean cost. */
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
  // Parts of a whole add up to a little more than it now and then.
  return { known: Math.min(1, share), ms: share > 0 ? sum / share : 0 };
}

/** One for each replica that has a node. */
function placesIn(cluster: ClusterGraph, workflow: WorkflowGraph, workload: string): Place[] {
  const nodes = [...workflow.replicas(workload).values()].filter((node) => node !== null);
  return nodes.map((name) => ({ name, id: cluster.idOf(name) }));
}
