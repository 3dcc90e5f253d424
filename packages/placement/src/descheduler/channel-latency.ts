import { neighboursOf } from "../scoring/neighbours.ts";
import { createStrategy } from "../profile.ts";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";

export interface ChannelLatency {
  /** Mean round trip weighted by traffic, milliseconds. */
  readonly ms: number;
  readonly bytesPerSecond: number;
}

interface MeasuredPod {
  readonly namespace: string;
  readonly name: string;
  readonly workload: string;
}

/** Returns null without placed peers, traffic or known costs. */
export function channelLatency(
  pod: MeasuredPod,
  node: string,
  graphs: { readonly cluster: ClusterGraph; readonly workflow: WorkflowGraph },
  bytesPerRequest: number,
): ChannelLatency | null {
  const { cluster, workflow } = graphs;
  if (cluster.idOf(node) < 0) return null;
  const strategy = createStrategy({
    strategy: "resource-network",
    mode: "normalized",
    settings: { gamma: 0, bytesPerRequest },
  });
  const { network } = strategy.score({
    pod,
    candidates: [node],
    cluster: { graph: cluster, ageSeconds: 0 },
    workflow: { graph: workflow, ageSeconds: 0 },
  }).parts;
  const cost = network?.[0];
  const bytesPerSecond = rateOf(pod, graphs, bytesPerRequest);
  if (cost === undefined || !Number.isFinite(cost) || !(bytesPerSecond > 0)) return null;
  return { ms: Math.abs(cost) / bytesPerSecond, bytesPerSecond };
}

function rateOf(
  pod: MeasuredPod,
  { cluster, workflow }: { readonly cluster: ClusterGraph; readonly workflow: WorkflowGraph },
  bytesPerRequest: number,
): number {
  const value =
    bytesPerRequest > 0 ? { bytesPerRequest } : { bytesPerRequest: null, reason: "bytesPerRequest is 0" };
  const neighbours = neighboursOf(pod, cluster, workflow, [], value);
  let sum = 0;
  for (const index of neighbours.node.keys())
    sum += neighbours.callingBytesPerSecond[index]! + neighbours.calledBytesPerSecond[index]!;
  for (const rate of neighbours.elsewhere.values()) sum += rate;
  for (const { bytesPerSecond } of neighbours.nearest) sum += bytesPerSecond;
  const shown = workflow.replicas(pod.workload);
  return sum / Math.max(1, shown.size + (shown.has(pod.name) ? 0 : 1));
}
