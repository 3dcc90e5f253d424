// Caches the cost of a workload's traffic from every node, so that scoring a candidate is a look-up.
import { routingScopes, type Channel, type ClusterGraph, type WorkflowGraph } from "@isochrone/topology";
import { noTrafficReason } from "./channel-traffic.ts";
import type { RequestValue, TrafficSources } from "./channel-traffic.ts";
import { nearestCosts } from "./nearest-part.ts";
import type { StandIns } from "./nearest-part.ts";
import { isSoughtNearest, neighboursOf } from "./neighbours.ts";
import type { CostEnd, Neighbours } from "./neighbours.ts";
import type { AssumedPod, PodToPlace } from "./problem.ts";
import { starvingCosts } from "./starving-part.ts";

/** Milliseconds x bytes per second, all replicas together. */
export interface NetworkVector {
  readonly byId: Float64Array;
  /** Value for candidates that the graph lacks. */
  readonly stranger: number;
  /** Total cost of nearest-routed callers if the pod is there, not divided by replicas. Null: none. */
  readonly called: { readonly byId: Float64Array; readonly stranger: number } | null;
  /** CPU demanded of the replicas beyond their usable CPU, millicores. */
  readonly lackMillicores: number;
  /** Deduction for candidates that host peers but are missing in the graph. */
  readonly free: ReadonlyMap<string, number>;
  /** Number of peer nodes by node id. Null: all costs are known. */
  readonly gaps: { readonly unknown: Uint16Array; readonly unreachable: Uint16Array } | null;
  readonly peerNodes: number;
  readonly traffic: TrafficSources;
  readonly unknownMs: number;
  readonly unreachableMs: number;
}

type NetworkFigures = { readonly vector: NetworkVector } | { readonly vector: null; readonly reason: string };

/** Vectors cached per pair of graphs: 40 kB each at 5,000 nodes. */
const MAX_VECTORS = 128;

export class NetworkVectors {
  readonly #kept = new WeakMap<ClusterGraph, WeakMap<WorkflowGraph, Map<string, NetworkFigures>>>();
  readonly #requestValue: RequestValue;
  readonly #costEnd: CostEnd;

  constructor(requestValue: RequestValue, costEnd: CostEnd = "initiator") {
    this.#requestValue = requestValue;
    this.#costEnd = costEnd;
  }

  of(
    pod: PodToPlace & { readonly workload: string },
    cluster: ClusterGraph,
    workflow: WorkflowGraph,
    assumed: readonly AssumedPod[],
  ): NetworkFigures {
    const kept = this.#map(cluster, workflow);
    const key = stateKey(pod, workflow, assumed);
    let figures = kept.get(key);
    if (figures === undefined) {
      const value = this.#requestValue;
      const neighbours = neighboursOf(pod, cluster, workflow, assumed, value, this.#costEnd);
      // The paper's sum ignores zones.
      const starving =
        this.#costEnd === "scored" ? null : starvingCosts(pod, cluster, workflow, neighbours.nearest, value);
      figures = withStarving(figuresOf(cluster, neighbours), starving);
      if (kept.size >= MAX_VECTORS) kept.delete(kept.keys().next().value!);
      kept.set(key, figures);
    }
    return figures;
  }

  #map(cluster: ClusterGraph, workflow: WorkflowGraph): Map<string, NetworkFigures> {
    let byWorkflow = this.#kept.get(cluster);
    if (byWorkflow === undefined) this.#kept.set(cluster, (byWorkflow = new WeakMap()));
    let kept = byWorkflow.get(workflow);
    if (kept === undefined) byWorkflow.set(workflow, (kept = new Map()));
    return kept;
  }
}

/**
 * Excludes the workload's own replica count, or each pod of a burst would need a new vector. Includes it if
 * the workload calls itself or has nearest-routed callers.
 */
function stateKey(
  pod: PodToPlace & { readonly workload: string },
  workflow: WorkflowGraph,
  assumed: readonly AssumedPod[],
): string {
  const peers = workflow.peersOf(pod.workload);
  const relevant: string[] = [];
  const siblings = peers.has(pod.workload) || isSoughtNearest(workflow, pod.workload);
  if (siblings) relevant.push(pod.name);
  for (const { workload, name, node } of assumed)
    if (peers.has(workload) || (siblings && workload === pod.workload)) relevant.push(workload, name, node);
  return relevant.length === 0 ? `workload ${pod.workload}` : JSON.stringify([pod.workload, ...relevant]);
}

function withStarving(figures: NetworkFigures, starving: ReturnType<typeof starvingCosts>): NetworkFigures {
  const called = figures.vector?.called ?? null;
  if (figures.vector === null || called === null || starving === null) return figures;
  const byId = called.byId.map((cost, id) => cost + starving.byId[id]!);
  const stranger = called.stranger + starving.stranger;
  const { lackMillicores } = starving;
  return { vector: { ...figures.vector, called: { byId, stranger }, lackMillicores } };
}

function figuresOf(graph: ClusterGraph, neighbours: Neighbours): NetworkFigures {
  const quiet = quietReason(neighbours);
  if (quiet !== null) return { vector: null, reason: quiet };
  const unknownMs = graph.medianKnownCost();
  const unreachableMs = graph.worstKnownCost();
  if (unknownMs === null || unreachableMs === null)
    return { vector: null, reason: "no network cost is known" };
  const vector = vectorOf(graph, neighbours, unknownMs, unreachableMs);
  if (neighbours.nearest.length === 0) return { vector };
  return { vector: withNearest(vector, graph, neighbours.nearest, { unknownMs, unreachableMs }) };
}

function withNearest(
  vector: NetworkVector,
  graph: ClusterGraph,
  exchanges: Neighbours["nearest"],
  standIns: StandIns,
): NetworkVector {
  const costs = nearestCosts(graph, exchanges, standIns);
  const { unknown, unreachable, calls, called, strangerCalls, strangerCalled } = costs;
  const free = new Map(vector.free);
  for (const { channel, calling, peers, bytesPerSecond } of exchanges) {
    if (!calling || !routesWithinNode(channel)) continue;
    const strangers = new Set(peers.filter(({ id }) => id < 0).map(({ name }) => name));
    for (const name of strangers) free.set(name, (free.get(name) ?? 0) + standIns.unknownMs * bytesPerSecond);
  }
  for (let id = 0; id < calls.length; id++) {
    vector.byId[id]! += calls[id]!;
    unknown[id]! += vector.gaps?.unknown[id] ?? 0;
    unreachable[id]! += vector.gaps?.unreachable[id] ?? 0;
  }
  const complete = unknown.every((count) => count === 0) && unreachable.every((count) => count === 0);
  return {
    ...vector,
    stranger: vector.stranger + strangerCalls,
    called: { byId: called, stranger: strangerCalled },
    free,
    gaps: complete ? null : { unknown, unreachable },
    peerNodes: vector.peerNodes + exchanges.reduce((sum, { peers }) => sum + peers.length, 0),
  };
}

function routesWithinNode(channel: Channel): boolean {
  return routingScopes(channel)?.includes("node") === true;
}

function quietReason(neighbours: Neighbours): string | null {
  const { node, elsewhere, nearest } = neighbours;
  if (node.length > 0 || elsewhere.size > 0 || nearest.length > 0) return null;
  return (
    noTrafficReason(neighbours.traffic) ?? "none of the pods it talks to is placed, or there is no traffic"
  );
}

/**
 * An unknown cost counts as the median, an unreachable one as the worst: an average would draw pods to a dead
 * end.
 */
function vectorOf(
  graph: ClusterGraph,
  neighbours: Neighbours,
  unknownMs: number,
  unreachableMs: number,
): NetworkVector {
  const { node, callingBytesPerSecond: calling, calledBytesPerSecond: called, elsewhere } = neighbours;
  const count = graph.nodes.length;
  const byId = new Float64Array(count);
  const gaps = { unknown: new Uint16Array(count), unreachable: new Uint16Array(count) };
  let complete = true;
  let stranger = 0;
  for (let index = 0; index < node.length; index++) {
    const to = graph.costsTo(node[index]!);
    const from = graph.costsFrom(node[index]!);
    stranger += unknownMs * (calling[index]! + called[index]!);
    for (let id = 0; id < count; id++) {
      const there = to[id]!;
      const back = Number.isNaN(from[id]!) ? there : from[id]!;
      const sum = weighted(calling[index]!, there) + weighted(called[index]!, back);
      if (Number.isFinite(sum)) {
        byId[id]! += sum;
        continue;
      }
      complete = false;
      const unknown =
        (calling[index]! > 0 && Number.isNaN(there)) || (called[index]! > 0 && Number.isNaN(back));
      gaps[unknown ? "unknown" : "unreachable"][id]!++;
      byId[id]! +=
        weighted(calling[index]!, counted(there, unknownMs, unreachableMs)) +
        weighted(called[index]!, counted(back, unknownMs, unreachableMs));
    }
  }
  const free = new Map<string, number>();
  for (const [name, bytesPerSecond] of elsewhere) free.set(name, unknownMs * bytesPerSecond);
  for (const amount of free.values()) {
    stranger += amount;
    for (let id = 0; id < count; id++) byId[id]! += amount;
  }
  return {
    byId,
    stranger,
    called: null,
    lackMillicores: 0,
    free,
    gaps: complete ? null : gaps,
    peerNodes: node.length,
    traffic: neighbours.traffic,
    unknownMs,
    unreachableMs,
  };
}

/** Product that avoids 0 x Infinity. */
function weighted(bytesPerSecond: number, ms: number): number {
  return bytesPerSecond === 0 ? 0 : bytesPerSecond * ms;
}

function counted(ms: number, unknownMs: number, unreachableMs: number): number {
  return Number.isNaN(ms) ? unknownMs : ms === Infinity ? unreachableMs : ms;
}
