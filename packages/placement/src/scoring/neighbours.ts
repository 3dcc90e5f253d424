import { routingScopes, type Channel, type ClusterGraph, type WorkflowGraph } from "@isochrone/topology";
import { bytesPerSecondOf, trafficSources } from "./channel-traffic.ts";
import type { RequestValue, TrafficSources } from "./channel-traffic.ts";
import type { AssumedPod, PodToPlace } from "./problem.ts";
import type { NearestEnds, Place } from "./routing.ts";

/** Traffic of a workload with the pods on each node, both directions, summed over its replicas. */
export interface Neighbours {
  readonly node: Int32Array;
  /**
   * Bytes per second priced from the pod's node to the peers': exchanges that the workload starts, or all
   * (see {@link CostEnd}).
   */
  readonly callingBytesPerSecond: Float64Array;
  /** Bytes per second priced from the peers' node to the pod's. */
  readonly calledBytesPerSecond: Float64Array;
  /** Sum of both on nodes that the graph lacks, by name. */
  readonly elsewhere: ReadonlyMap<string, number>;
  readonly nearest: readonly NearestExchange[];
  readonly traffic: TrafficSources;
}

/**
 * End from which a round trip is priced: the initiator's, or the scored node's. They differ for asymmetric
 * costs.
 */
export type CostEnd = "initiator" | "scored";

export interface NearestExchange extends NearestEnds {
  readonly channel: Channel;
  /** Sum over all replicas and both directions. */
  readonly bytesPerSecond: number;
}

interface Peer {
  readonly channel: Channel;
  readonly calling: boolean;
  readonly node: string;
  /** Replicas of the peer's workload that share the channel's traffic. */
  readonly replicas: number;
}

/**
 * Divides a channel's rate equally among all pairs of replicas, unless it goes to the nearest. Excludes the
 * pod itself.
 */
export function neighboursOf(
  pod: PodToPlace,
  cluster: ClusterGraph,
  workflow: WorkflowGraph,
  assumed: readonly AssumedPod[],
  requestValue: RequestValue,
  costEnd: CostEnd = "initiator",
): Neighbours {
  const byNode = new Map<number, { calling: number; called: number }>();
  const elsewhere = new Map<string, number>();
  for (const { channel, calling, node, replicas } of peersOf(pod, workflow, assumed)) {
    const rate = (bytesPerSecondOf(channel, requestValue) ?? 0) / replicas;
    if (!(rate > 0) || channel.routing === "nearest") continue;
    const id = cluster.idOf(node);
    if (id < 0) {
      elsewhere.set(node, (elsewhere.get(node) ?? 0) + rate);
      continue;
    }
    const sums = byNode.get(id) ?? { calling: 0, called: 0 };
    sums[calling || costEnd === "scored" ? "calling" : "called"] += rate;
    byNode.set(id, sums);
  }
  const ids = [...byNode.keys()].sort((a, b) => a - b);
  return {
    node: Int32Array.from(ids),
    callingBytesPerSecond: Float64Array.from(ids, (id) => byNode.get(id)!.calling),
    calledBytesPerSecond: Float64Array.from(ids, (id) => byNode.get(id)!.called),
    elsewhere,
    nearest: nearestExchanges(pod, cluster, workflow, assumed).flatMap((exchange) => {
      const bytesPerSecond = bytesPerSecondOf(exchange.channel, requestValue) ?? 0;
      return bytesPerSecond > 0 && exchange.peers.length > 0 ? [{ ...exchange, bytesPerSecond }] : [];
    }),
    traffic: trafficOfWorkload(workflow, pod.workload, requestValue),
  };
}

export function trafficOfWorkload(
  workflow: WorkflowGraph,
  workload: string | null,
  requestValue: RequestValue,
): TrafficSources {
  return trafficSources(workload === null ? [] : channelsOf(workflow, workload), requestValue);
}

export function nearestExchanges(
  pod: PodToPlace,
  cluster: ClusterGraph,
  workflow: WorkflowGraph,
  assumed: readonly AssumedPod[],
): Omit<NearestExchange, "bytesPerSecond">[] {
  const own = pod.workload;
  if (own === null) return [];
  const placesOf = (workload: string): Place[] => {
    const places: Place[] = [];
    for (const [name, node] of replicasOf(workload, workflow, assumed)) {
      if (node === null || (workload === own && name === pod.name)) continue;
      places.push({ name: node, id: cluster.idOf(node) });
    }
    return places;
  };
  const exchange = (channel: Channel, calling: boolean): Omit<NearestExchange, "bytesPerSecond"> => {
    const other = calling ? channel.target : channel.source;
    const replicas =
      other === own ? ownReplicas(pod, workflow, assumed) : replicasOf(other, workflow, assumed).size;
    return { channel, calling, peers: placesOf(other), replicas, siblings: placesOf(own) };
  };
  return [
    ...workflow
      .channelsFrom(own)
      .filter(isNearest)
      .map((channel) => exchange(channel, true)),
    ...workflow
      .channelsTo(own)
      .filter(isNearest)
      .map((channel) => exchange(channel, false)),
  ];
}

/** If true, placing a replica affects the other replicas' callers. */
export function isSoughtNearest(workflow: WorkflowGraph, workload: string): boolean {
  return workflow.channelsTo(workload).some(isNearest);
}

function isNearest(channel: Channel): boolean {
  return routingScopes(channel) !== null;
}

export function* peersOf(
  pod: PodToPlace,
  workflow: WorkflowGraph,
  assumed: readonly AssumedPod[],
): Generator<Peer> {
  if (pod.workload === null) return;
  for (const [channels, end] of [
    [workflow.channelsFrom(pod.workload), "target"],
    [workflow.channelsTo(pod.workload), "source"],
  ] as const) {
    for (const channel of channels) {
      const workload = channel[end];
      const own = workload === pod.workload;
      const others = replicasOf(workload, workflow, assumed);
      const replicas = own ? ownReplicas(pod, workflow, assumed) : others.size;
      for (const [name, node] of others) {
        if (node !== null && !(own && name === pod.name))
          yield { channel, calling: end === "target", node, replicas };
      }
    }
  }
}

/** Number of the pod's replicas. Counts the pod even if it is not listed yet. */
export function ownReplicas(
  pod: PodToPlace,
  workflow: WorkflowGraph,
  assumed: readonly AssumedPod[],
): number {
  if (pod.workload === null) return 1;
  const shown = workflow.replicas(pod.workload);
  let count = shown.size;
  let listed = shown.has(pod.name);
  for (const { workload, name } of assumed) {
    if (workload !== pod.workload || shown.has(name)) continue;
    count++;
    listed ||= name === pod.name;
  }
  return listed ? count : count + 1;
}

export function placedReplicas(
  workload: string,
  workflow: WorkflowGraph,
  assumed: readonly AssumedPod[],
): { readonly name: string; readonly node: string }[] {
  return [...replicasOf(workload, workflow, assumed)].flatMap(([name, node]) =>
    node === null ? [] : [{ name, node }],
  );
}

/** Node by pod name. The graph overrides assumed pods, unless it shows a pod without a node. */
function replicasOf(
  workload: string,
  workflow: WorkflowGraph,
  assumed: readonly AssumedPod[],
): ReadonlyMap<string, string | null> {
  if (!assumed.some((pod) => pod.workload === workload)) return workflow.replicas(workload);
  const replicas = new Map(workflow.replicas(workload));
  for (const pod of assumed) {
    if (pod.workload === workload && (replicas.get(pod.name) ?? null) === null)
      replicas.set(pod.name, pod.node);
  }
  return replicas;
}

function channelsOf(workflow: WorkflowGraph, workload: string): Channel[] {
  const incoming = workflow.channelsTo(workload).filter((channel) => channel.source !== workload);
  return [...workflow.channelsFrom(workload), ...incoming];
}
