import { routingScopes, type Channel, type ClusterGraph, type WorkflowGraph } from "@isochrone/topology";
import { bytesPerSecondOf, trafficSources } from "./channel-traffic.ts";
import type { RequestValue, TrafficSources } from "./channel-traffic.ts";
import type { AssumedPod, PodToPlace } from "./problem.ts";
import type { NearestEnds, Place } from "./routing.ts";

/**
 * What a workload exchanges with the pods on the nodes, all its replicas together; one replica has its even
 * share of it.
 */
export interface Neighbours {
  /** Ids in the cluster graph of nodes that hold pods which it talks to; ascending. */
  readonly node: Int32Array;
  /**
   * Bytes per second, both directions, of exchanges with the pods on that node whose cost is that from the
   * pod's node to theirs: those that the workload starts, or all of them (see {@link CostEnd}).
   */
  readonly callingBytesPerSecond: Float64Array;
  /** The same of exchanges whose cost is that from their node to the pod's. */
  readonly calledBytesPerSecond: Float64Array;
  /** Both sums for nodes that the cluster graph doesn't know, by name. */
  readonly elsewhere: ReadonlyMap<string, number>;
  /** Channels whose traffic goes to the nearest replica: they are in none of the sums above. */
  readonly nearest: readonly NearestExchange[];
  /** What the traffic of its channels is known from. */
  readonly traffic: TrafficSources;
}

/**
 * From which end a round trip is priced: from the one that starts the exchange, or from the node that is
 * scored, whoever starts it. They differ where costs are asymmetric.
 */
export type CostEnd = "initiator" | "scored";

/** What a workload exchanges over one channel whose callers talk to the replica that is nearest to them. */
export interface NearestExchange extends NearestEnds {
  readonly channel: Channel;
  /** Of all replicas together, both directions. */
  readonly bytesPerSecond: number;
}

/** A placed replica that the pod talks to over `channel`. */
interface Peer {
  readonly channel: Channel;
  /** True when the pod starts the exchange, false when this peer does. */
  readonly calling: boolean;
  readonly node: string;
  /** How many replicas of the peer's workload share the channel's traffic. */
  readonly replicas: number;
}

/**
 * Adds up, per node, what the pod's workload exchanges with the pods there. A channel's rate is shared
 * equally by all pairs of replicas (requests are spread over replicas), unless its traffic goes to the
 * nearest; the pod itself is left out.
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

/** What the traffic of all channels of a workload is known from. */
export function trafficOfWorkload(
  workflow: WorkflowGraph,
  workload: string | null,
  requestValue: RequestValue,
): TrafficSources {
  return trafficSources(workload === null ? [] : channelsOf(workflow, workload), requestValue);
}

/**
 * The pod's channels whose traffic goes to the nearest replica, each once per direction in which its workload
 * is an end of it.
 */
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

/**
 * True when callers of the workload look for its nearest replica: where its other replicas are then matters
 * to each of them.
 */
export function isSoughtNearest(workflow: WorkflowGraph, workload: string): boolean {
  return workflow.channelsTo(workload).some(isNearest);
}

function isNearest(channel: Channel): boolean {
  return routingScopes(channel) !== null;
}

/** Every placed replica at the other end of a channel of the pod's workload, once per channel. */
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

/**
 * How many replicas share what the pod's workload exchanges. The pod may not be listed yet, or only after it
 * was bound.
 */
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

/** The replicas of a workload that are on a node. */
export function placedReplicas(
  workload: string,
  workflow: WorkflowGraph,
  assumed: readonly AssumedPod[],
): { readonly name: string; readonly node: string }[] {
  return [...replicasOf(workload, workflow, assumed)].flatMap(([name, node]) =>
    node === null ? [] : [{ name, node }],
  );
}

/**
 * Node by pod name. What the graph shows is newer than what was assumed, unless it shows the pod without a
 * node.
 */
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
