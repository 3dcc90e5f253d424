// What the network takes of a request, and which link it crosses most: from the graphs, as Isochrone measured
// them.
import { workflowLatency } from "@isochrone/placement";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";

/**
 * Round trips of all calls that one request causes, added up: calls that are made at the same time count
 * each.
 * @param requestsPerSecond that entered, over the graphs' window
 */
export function networkMsPerRequest(
  cluster: ClusterGraphSnapshot,
  workflows: readonly WorkflowGraphSnapshot[],
  requestsPerSecond: number,
): number | null {
  if (requestsPerSecond <= 0) return null;
  const graph = new ClusterGraph(cluster);
  let msPerSecond = 0;
  for (const workflow of workflows) {
    // Weighted by calls in place of bytes.
    const channels = workflow.channels.map((channel) => ({
      ...channel,
      bytesPerSecond: channel.requestsPerSecond,
    }));
    const calls = workflowLatency(graph, new WorkflowGraph({ ...workflow, channels }), 0);
    if (calls.unknownBytesPerSecond > UNKNOWN_SHARE * (calls.bytesPerSecond + calls.unknownBytesPerSecond))
      return null;
    msPerSecond += calls.bytesPerSecond * (calls.ms ?? 0);
  }
  return msPerSecond / requestsPerSecond;
}

/** A sum that leaves out more of the calls isn't one. */
const UNKNOWN_SHARE = 0.02;

export interface BusyLink {
  readonly source: string;
  readonly target: string;
  readonly rttMs: number;
}

/**
 * The pair of nodes with most calls between them, both ways together; null while nothing is called over the
 * network.
 */
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
