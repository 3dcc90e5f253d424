// Network time per request and the most used link, from measured graphs.
import { workflowLatency } from "@isochrone/placement";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";

type Calls = readonly WorkflowGraphSnapshot[];

export interface NetworkSample {
  readonly cluster: ClusterGraphSnapshot;
  readonly workflows: readonly WorkflowGraphSnapshot[];
}

/**
 * Calls per request; null without entering requests. They depend on the workflow, not on its placement:
 * failures during replacement and changing rates would look like a gain.
 */
export function callsPerRequest(workflows: readonly WorkflowGraphSnapshot[]): Calls | null {
  const entering = enteringPerSecond(workflows);
  if (entering <= 0) return null;
  return workflows.map((workflow) => ({
    ...workflow,
    channels: workflow.channels.map((channel) => ({
      ...channel,
      requestsPerSecond: (channel.requestsPerSecond ?? 0) / entering,
    })),
  }));
}

/** Entering requests as counted by the graphs, since other counters have other windows and losses. */
const enteringPerSecond = (workflows: readonly WorkflowGraphSnapshot[]): number =>
  workflows
    .flatMap(({ outside = [] }) => outside)
    .reduce((sum, { receivedRequestsPerSecond }) => sum + (receivedRequestsPerSecond ?? 0), 0);

/** Sum of round trips of all calls per request; concurrent calls count each. Null if costs are unknown. */
export function networkMsPerRequest({ cluster, workflows }: NetworkSample, calls: Calls): number | null {
  const graph = new ClusterGraph(cluster);
  let ms = 0;
  for (const { channels, namespace, name } of calls) {
    const workflow = workflows.find((each) => each.namespace === namespace && each.name === name);
    if (workflow === undefined) return null;
    // Weighted by calls instead of bytes.
    const weighted = channels.map((channel) => ({ ...channel, bytesPerSecond: channel.requestsPerSecond }));
    const sum = workflowLatency(graph, new WorkflowGraph({ ...workflow, channels: weighted }), 0);
    const unknown = sum.unknownBytesPerSecond;
    if (unknown > UNKNOWN_SHARE * (sum.bytesPerSecond + unknown)) return null;
    ms += sum.bytesPerSecond * (sum.ms ?? 0);
  }
  return ms;
}

const UNKNOWN_SHARE = 0.02;

export interface BusyLink {
  readonly source: string;
  readonly target: string;
  readonly rttMs: number;
}

/** The node pair with most calls, both directions; null without calls over the network. */
export function busiestLink(
  cluster: ClusterGraphSnapshot,
  workflows: readonly WorkflowGraphSnapshot[],
): BusyLink | null {
  const calls = new Map<string, { source: string; target: string; perSecond: number }>();
  for (const { workloads, channels } of workflows) {
    const nodesOf = new Map(
      workloads.map(({ name, pods }) => [name, pods.flatMap(({ node }) => node ?? [])] as const),
    );
    for (const { source, target, requestsPerSecond } of channels)
      for (const a of nodesOf.get(source) ?? [])
        for (const b of nodesOf.get(target) ?? []) {
          if (a === b) continue;
          const key = a < b ? `${a} ${b}` : `${b} ${a}`;
          const pair = calls.get(key) ?? { source: a, target: b, perSecond: 0 };
          pair.perSecond += requestsPerSecond ?? 0;
          calls.set(key, pair);
        }
  }
  const graph = new ClusterGraph(cluster);
  const known = [...calls.values()].flatMap(({ source, target, perSecond }) => {
    const cost = graph.cost(source, target);
    return cost.known && perSecond > 0 ? [{ source, target, rttMs: cost.ms, perSecond }] : [];
  });
  const [most] = known.sort((a, b) => b.perSecond - a.perSecond);
  return most === undefined ? null : { source: most.source, target: most.target, rttMs: most.rttMs };
}
