import type { Channel, ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { AssumedPod, PodToPlace } from "./problem.ts";

/** What a workload exchanges with the pods on the nodes, all its replicas together; one replica has its even share of it. */
export interface Neighbours {
  /** Ids in the cluster graph of nodes that hold pods which it talks to; ascending. */
  readonly node: Int32Array;
  /** Bytes per second, both directions, of exchanges that the workload starts with the pods on that node. */
  readonly callingBytesPerSecond: Float64Array;
  /** The same of exchanges that the pods on that node start. */
  readonly calledBytesPerSecond: Float64Array;
  /** Both sums for nodes that the cluster graph doesn't know, by name. */
  readonly elsewhere: ReadonlyMap<string, number>;
  /** Channels of the pod's workload whose traffic nobody knows; they count for nothing. */
  readonly channelsWithoutTraffic: number;
  /** Channels whose traffic is known. */
  readonly channelsWithTraffic: number;
}

/** A placed replica that the pod talks to over `channel`. */
export interface Peer {
  readonly channel: Channel;
  /** True when the pod starts the exchange, false when this peer does. */
  readonly calling: boolean;
  readonly node: string;
  /** How many replicas of the peer's workload share the channel's traffic. */
  readonly replicas: number;
}

/**
 * Adds up, per node, what the pod's workload exchanges with the pods there. A channel's rate is shared equally by all pairs of
 * replicas (requests are spread over replicas); the pod itself is left out.
 */
export function neighboursOf(
  pod: PodToPlace,
  cluster: ClusterGraph,
  workflow: WorkflowGraph,
  assumed: readonly AssumedPod[],
): Neighbours {
  const byNode = new Map<number, { calling: number; called: number }>();
  const elsewhere = new Map<string, number>();
  for (const { channel, calling, node, replicas } of peersOf(pod, workflow, assumed)) {
    const rate = (channel.bytesPerSecond ?? 0) / replicas;
    if (!(rate > 0)) continue;
    const id = cluster.idOf(node);
    if (id < 0) {
      elsewhere.set(node, (elsewhere.get(node) ?? 0) + rate);
      continue;
    }
    const sums = byNode.get(id) ?? { calling: 0, called: 0 };
    sums[calling ? "calling" : "called"] += rate;
    byNode.set(id, sums);
  }
  const ids = [...byNode.keys()].sort((a, b) => a - b);
  const channels = pod.workload === null ? [] : channelsOf(workflow, pod.workload);
  const withoutTraffic = channels.filter((channel) => channel.bytesPerSecond === null).length;
  return {
    node: Int32Array.from(ids),
    callingBytesPerSecond: Float64Array.from(ids, (id) => byNode.get(id)!.calling),
    calledBytesPerSecond: Float64Array.from(ids, (id) => byNode.get(id)!.called),
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

/** How many replicas share what the pod's workload exchanges. The pod may not be listed yet, or only after it was bound. */
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
