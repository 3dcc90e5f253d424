// Attraction of a pod to the nodes of its peers: Algorithm 1, lines 4 to 10 (Marchese 2022, section 3.4).
import { routingScopes, type Channel, type ClusterGraph, type WorkflowGraph } from "@isochrone/topology";
import { bytesPerSecondOf } from "../scoring/channel-traffic.ts";
import type { RequestValue } from "../scoring/channel-traffic.ts";
import { nearestExchanges, ownReplicas, peersOf } from "../scoring/neighbours.ts";
import type { NearestExchange } from "../scoring/neighbours.ts";
import type { AssumedPod, PodToPlace } from "../scoring/problem.ts";
import { Proximity } from "../scoring/routing.ts";
import type { Place } from "../scoring/routing.ts";
import { BASE_TYPE, REQUEST_TYPE } from "./channel-types.ts";
import type { ChannelTypes } from "./channel-types.ts";

/**
 * `paper`: each placed peer counts with the channel's whole priority and traffic. `shared`: with its share.
 */
type Counting = "paper" | "shared";

/**
 * Sums over the placed peers on one node: priorities and bytes per second of exchanges that the pod starts
 * (`calling`) and that they start (`called`).
 */
export interface Attraction {
  readonly place: Place;
  readonly calling: Pull;
  readonly called: Pull;
}

export interface Pull {
  priority: number;
  traffic: number;
}

export interface NearestAttraction {
  readonly calling: boolean;
  readonly pull: Readonly<Pull>;
  readonly exchange: Omit<NearestExchange, "bytesPerSecond">;
  readonly proximity: Proximity;
}

export interface Attractions {
  readonly even: readonly Attraction[];
  readonly nearest: readonly NearestAttraction[];
  /** Relationship types that no profile defines. */
  readonly unknownTypes: readonly string[];
  /** Channels whose declared priority is capped at the largest type's. */
  readonly beyondLargest: readonly string[];
}

export interface ChannelValues {
  readonly counting: Counting;
  readonly types: ChannelTypes;
  readonly requestValue: RequestValue;
}

export function attractionsOf(
  pod: PodToPlace,
  cluster: ClusterGraph,
  workflow: WorkflowGraph,
  assumed: readonly AssumedPod[],
  values: ChannelValues,
): Attractions {
  const shared = values.counting === "shared";
  const byNode = new Map<string, Attraction>();
  const unknownTypes = new Set<string>();
  const beyondLargest = new Set<string>();
  const valueOf = (channel: Channel): Pull => {
    const type = channel.relationshipType ?? null;
    if (channel.priority === null && type !== null && values.types.priorityOf(type) === null)
      unknownTypes.add(type);
    if ((channel.priority ?? 0) > values.types.largestPriority)
      beyondLargest.add(`${channel.source} -> ${channel.target}`);
    return {
      priority: channelPriority(channel, values),
      traffic: bytesPerSecondOf(channel, values.requestValue) ?? 0,
    };
  };
  // A replica carries an even share of its workload's traffic; the paper has no replicas.
  const ownShare = shared ? 1 / ownReplicas(pod, workflow, assumed) : 1;
  for (const { channel, calling, node, replicas } of peersOf(pod, workflow, assumed)) {
    if (shared ? channel.routing === "nearest" : isSecondLook(channel, calling)) continue;
    const share = shared ? 1 / replicas : 1;
    const { priority, traffic } = valueOf(channel);
    let attraction = byNode.get(node);
    if (attraction === undefined) byNode.set(node, (attraction = emptyAttraction(node, cluster)));
    // The paper always uses the latency from the scored node.
    const pull = attraction[calling || !shared ? "calling" : "called"];
    pull.priority += priority * share;
    pull.traffic += traffic * share * ownShare;
  }
  const exchanges = shared ? nearestExchanges(pod, cluster, workflow, assumed) : [];
  return {
    even: [...byNode.values()],
    nearest: exchanges.map((exchange): NearestAttraction => {
      const { channel, calling } = exchange;
      const { priority, traffic } = valueOf(channel);
      return {
        calling,
        // Callers choose their replica, so their traffic isn't divided by the pod's replica count.
        pull: { priority, traffic: calling ? traffic * ownShare : traffic },
        exchange,
        proximity: new Proximity(cluster, routingScopes(channel)!),
      };
    }),
    unknownTypes: [...unknownTypes].sort(),
    beyondLargest: [...beyondLargest].sort(),
  };
}

/** The channel's own priority, capped at the largest type's, else its type's priority. */
function channelPriority(channel: Channel, { types, counting }: ChannelValues): number {
  if (channel.priority !== null) return Math.min(channel.priority, types.largestPriority);
  const type = channel.relationshipType ?? null;
  const answered = counting === "shared" && (channel.requestsPerSecond ?? 0) > 0;
  return types.priorityOf(type ?? (answered ? REQUEST_TYPE : BASE_TYPE)) ?? types.priorityOf(BASE_TYPE)!;
}

/** A workload's channel to itself is met from both ends; the paper counts a pair of pods once. */
function isSecondLook({ source, target }: Channel, calling: boolean): boolean {
  return source === target && !calling;
}

function emptyAttraction(name: string, cluster: ClusterGraph): Attraction {
  const pull = (): Pull => ({ priority: 0, traffic: 0 });
  return { place: { name, id: cluster.idOf(name) }, calling: pull(), called: pull() };
}
