import type { Channel, ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { AssumedPod, PodToPlace } from "./problem.ts";

/** What a pod exchanges with the pods on the other nodes. */
export interface Neighbours {
  /** Ids in the cluster graph of nodes that hold pods which it talks to; ascending. */
  readonly node: Int32Array;
  /** Bytes per second between the pod and the pods on that node, both directions. */
  readonly bytesPerSecond: Float64Array;
  /** The same for nodes that the cluster graph doesn't know, by name. */
  readonly elsewhere: ReadonlyMap<string, number>;
  /** Channels of the pod's workload whose traffic nobody knows; they count for nothing. */
  readonly channelsWithoutTraffic: number;
  /** Channels whose traffic is known. */
  readonly channelsWithTraffic: number;
}

/** A placed replica that the pod talks to over `channel`. */
export interface Peer {
  readonly channel: Channel;
  readonly workload: string;
  readonly pod: string;
  readonly node: string;
  /** How many pairs of replicas share the channel's traffic. */
  readonly pairs: number;
}

/**
 * Adds up, per node, what the pod exchanges with the pods there. A channel's rate is shared equally by all pairs of replicas
 * (requests are spread over replicas); the pod itself is left out.
 */
export function neighboursOf(
  pod: PodToPlace,
  cluster: ClusterGraph,
  workflow: WorkflowGraph,
  assumed: readonly AssumedPod[],
): Neighbours {
  const byNode = new Map<number, number>();
  const elsewhere = new Map<string, number>();
  for (const { channel, node, pairs } of peersOf(pod, workflow, assumed)) {
    const rate = (channel.bytesPerSecond ?? 0) / pairs;
    if (!(rate > 0)) continue;
    const id = cluster.idOf(node);
    if (id >= 0) byNode.set(id, (byNode.get(id) ?? 0) + rate);
    else elsewhere.set(node, (elsewhere.get(node) ?? 0) + rate);
  }
  const ids = [...byNode.keys()].sort((a, b) => a - b);
  const channels = pod.workload === null ? [] : channelsOf(workflow, pod.workload);
  const withoutTraffic = channels.filter((channel) => channel.bytesPerSecond === null).length;
  return {
    node: Int32Array.from(ids),
    bytesPerSecond: Float64Array.from(ids, (id) => byNode.get(id)!),
    elsewhere,
    channelsWithoutTraffic: withoutTraffic,
    channelsWithTraffic: channels.length - withoutTraffic,
  };
}

/** Every placed replica at the other end of a channel of the pod's workload, once per channel. */
export function* peersOf(
  pod: PodToPlace,
  workflow: WorkflowGraph,
  assumed: readonly AssumedPod[],
): Generator<Peer> {
  if (pod.workload === null) return;
  const own = replicasOf(pod.workload, workflow, assumed);
  // The pod may not be listed yet, or only after it was bound.
  const ownReplicas = own.has(pod.name) ? own.size : own.size + 1;
  for (const [channels, end] of [
    [workflow.channelsFrom(pod.workload), "target"],
    [workflow.channelsTo(pod.workload), "source"],
  ] as const) {
    for (const channel of channels) {
      const workload = channel[end];
      const others = workload === pod.workload ? own : replicasOf(workload, workflow, assumed);
      const pairs = ownReplicas * (workload === pod.workload ? ownReplicas : others.size);
      for (const [name, node] of others) {
        const itself = workload === pod.workload && name === pod.name;
        if (node !== null && !itself) yield { channel, workload, pod: name, node, pairs };
      }
    }
  }
}

/** Node by pod name. What the graph shows is newer than what was assumed, unless it shows the pod without a node. */
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
