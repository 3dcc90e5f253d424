// What the network takes of a request, and which link it crosses most: from the graphs, as Isochrone measured
// them.
import { workflowLatency } from "@isochrone/placement";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";

/** Workflows whose channels carry calls per request in place of requests per second. */
type Calls = readonly WorkflowGraphSnapshot[];

/** The graphs at one time. */
export interface NetworkSample {
  readonly cluster: ClusterGraphSnapshot;
  readonly workflows: readonly WorkflowGraphSnapshot[];
}

/**
 * Calls that a request causes; null while no request enters. They depend on the workflow, not on its
 * placement: requests that fail while pods are replaced, and rates that change, would look like a gain.
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

/** Requests from outside as the graphs count them: what else counts has another window, and other losses. */
const enteringPerSecond = (workflows: readonly WorkflowGraphSnapshot[]): number =>
  workflows
    .flatMap(({ outside = [] }) => outside)
    .reduce((sum, { receivedRequestsPerSecond }) => sum + (receivedRequestsPerSecond ?? 0), 0);

/**
 * Round trips of all calls that one request causes, added up: calls that are made at the same time count
 * each. Null if the cost of some calls isn't known.
 * @param workflows where their pods are
 */
export function networkMsPerRequest({ cluster, workflows }: NetworkSample, calls: Calls): number | null {
  const graph = new ClusterGraph(cluster);
  let ms = 0;
  for (const { channels, namespace, name } of calls) {
    const workflow = workflows.find((each) => each.namespace === namespace && each.name === name);
    if (workflow === undefined) return null;
    // Weighted by calls in place of bytes.
    const weighted = channels.map((channel) => ({ ...channel, bytesPerSecond: channel.requestsPerSecond }));
    const sum = workflowLatency(graph, new WorkflowGraph({ ...workflow, channels: weighted }), 0);
    const unknown = sum.unknownBytesPerSecond;
    if (unknown > UNKNOWN_SHARE * (sum.bytesPerSecond + unknown)) return null;
    ms += sum.bytesPerSecond * (sum.ms ?? 0);
  }
  return ms;
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
