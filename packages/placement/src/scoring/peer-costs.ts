import { routingScopes, type Channel, type ClusterGraph, type WorkflowGraph } from "@isochrone/topology";
import { DEFAULT_BYTES_PER_REQUEST } from "./channel-traffic.ts";
import { nearestExchanges, ownReplicas, peersOf } from "./neighbours.ts";
import type { AssumedPod, PlacementProblem, PodToPlace } from "./problem.ts";
import { NearestShares, Proximity } from "./routing.ts";

export interface PeerCost {
  readonly workload: string;
  readonly calling: boolean;
  readonly node: string;
  readonly pods: number;
  /** Request rate of the peer's channels. Null: unknown. */
  readonly requestsPerSecond: number | null;
  /** Traffic in both directions. Null: unknown. */
  readonly bytesPerSecond: number | null;
  /** Round trip by row, milliseconds. NaN: unknown, Infinity: unreachable. */
  readonly ms: Float64Array;
  /** Error of `ms` for the first {@link LEAST_ROWS} rows. Infinity: unknown. */
  readonly errorMs: Float64Array;
}

export interface PeerCosts {
  readonly names: readonly string[];
  /** Mean network time of a request by row, milliseconds. NaN: unknown, Infinity: unreachable. */
  readonly networkMs: Float64Array;
  /** Sorted by requests, at most {@link MAX_PEERS}. */
  readonly peers: readonly PeerCost[];
}

/** Limits the columns that a decision stores. */
const MAX_PEERS = 16;

/** The mean covers the heaviest peers only, because kube-scheduler waits for the look-ups. */
const MAX_COUNTED = 32;
/** Rows computed regardless of `maxLookups`. */
const LEAST_ROWS = 16;

/**
 * Returns null without graphs or placed peers.
 * @param candidates most important first
 * @param maxLookups bounds the computed rows, but never below 16
 */
export function peerCosts(
  problem: PlacementProblem,
  candidates: readonly string[],
  maxLookups = Infinity,
): PeerCosts | null {
  const { pod, cluster, workflow, assumed = [] } = problem;
  if (cluster.graph === null || workflow.graph === null) return null;
  const groups = heaviest(groupsOf(pod, workflow.graph, assumed));
  if (groups.length === 0) return null;
  const names = candidates.slice(0, Math.max(LEAST_ROWS, Math.floor(maxLookups / groups.length)));
  const { graph } = cluster;
  const ids = graph.idsOf(names);
  const share = 1 / ownReplicas(pod, workflow.graph, assumed);
  const nearest = nearestSharesOf(pod, graph, workflow.graph, assumed);
  const mean = new WeightedMean(names.length);
  const peers: Omit<PeerCost, "errorMs">[] = [];
  for (const group of groups) {
    const { channel, calling, node, pods, replicas } = group;
    const ms = columnOf(graph, names, ids, group);
    const even = (share * pods) / replicas;
    const weight = requestsOf(channel);
    const shares = nearest.get(channel)?.[calling ? "calling" : "called"];
    if (weight > 0)
      mean.add(ms, (row) =>
        shares === undefined
          ? weight * even
          : weight * (calling ? share : 1) * shareOf(shares, { name: names[row]!, id: ids[row]! }, node),
      );
    peers.push({
      workload: calling ? channel.target : channel.source,
      calling,
      node,
      pods,
      requestsPerSecond: times(channel.requestsPerSecond, even),
      bytesPerSecond: times(channel.bytesPerSecond, even),
      ms,
    });
  }
  peers.sort(byTraffic);
  const shown = peers.slice(0, MAX_PEERS);
  const withErrors = shown.map((peer) => ({ ...peer, errorMs: errorsOf(graph, ids, peer) }));
  return { names, networkMs: mean.values(), peers: withErrors };
}

export function replicasOn({ pod, workflow, assumed = [] }: PlacementProblem, node: string): number {
  if (pod.workload === null || workflow.graph === null) return 0;
  const shown = workflow.graph.replicas(pod.workload);
  let count = 0;
  for (const [name, on] of shown) if (on === node && name !== pod.name) count++;
  for (const { workload, name, node: on } of assumed)
    if (on === node && workload === pod.workload && name !== pod.name && (shown.get(name) ?? null) === null)
      count++;
  return count;
}

interface Group {
  readonly channel: Channel;
  readonly calling: boolean;
  readonly node: string;
  pods: number;
  readonly replicas: number;
}

function groupsOf(pod: PodToPlace, workflow: WorkflowGraph, assumed: readonly AssumedPod[]): Group[] {
  const byChannel = new Map<Channel, Map<string, Group>>();
  for (const { channel, calling, node, replicas } of peersOf(pod, workflow, assumed)) {
    let groups = byChannel.get(channel);
    if (groups === undefined) byChannel.set(channel, (groups = new Map()));
    const key = `${calling ? ">" : "<"}${node}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { channel, calling, node, pods: 1, replicas });
    else group.pods++;
  }
  return [...byChannel.values()].flatMap((groups) => [...groups.values()]);
}

function heaviest(groups: Group[]): readonly Group[] {
  if (groups.length <= MAX_COUNTED) return groups;
  const weight = ({ channel, pods, replicas }: Group): number => (requestsOf(channel) * pods) / replicas;
  return groups.toSorted((a, b) => weight(b) - weight(a)).slice(0, MAX_COUNTED);
}

/**
 * Round trips to a peer by row, priced as in scoring: round trip of the initiator, else the opposite
 * direction.
 */
function columnOf(
  graph: ClusterGraph,
  names: readonly string[],
  ids: Int32Array,
  { calling, node }: Group,
): Float64Array {
  const peer = graph.idOf(node);
  if (peer < 0) return Float64Array.from(names, (name) => (name === node ? 0 : Number.NaN));
  const column = new Float64Array(ids.length).fill(Number.NaN);
  for (let row = 0; row < ids.length; row++) {
    const id = ids[row]!;
    if (id < 0) continue;
    const ms = calling ? graph.costMsById(id, peer) : graph.costMsById(peer, id);
    column[row] = calling || !Number.isNaN(ms) ? ms : graph.costMsById(id, peer);
  }
  return column;
}

function errorsOf(
  graph: ClusterGraph,
  ids: Int32Array,
  { calling, node }: Pick<PeerCost, "calling" | "node">,
): Float64Array {
  const peer = graph.idOf(node);
  return Float64Array.from(ids.subarray(0, LEAST_ROWS), (id) => {
    if (id < 0 || peer < 0) return Infinity;
    const isBack = !calling && !Number.isNaN(graph.costMsById(peer, id));
    return isBack ? graph.errorMsById(peer, id) : graph.errorMsById(id, peer);
  });
}

type NearestByEnd = { calling?: NearestShares; called?: NearestShares };

function nearestSharesOf(
  pod: PodToPlace,
  graph: ClusterGraph,
  workflow: WorkflowGraph,
  assumed: readonly AssumedPod[],
): ReadonlyMap<Channel, NearestByEnd> {
  const found = new Map<Channel, NearestByEnd>();
  for (const exchange of nearestExchanges(pod, graph, workflow, assumed)) {
    const { channel, calling } = exchange;
    const shares = new NearestShares(exchange, new Proximity(graph, routingScopes(channel)!));
    found.set(channel, { ...found.get(channel), [calling ? "calling" : "called"]: shares });
  }
  return found;
}

function shareOf(
  shares: NearestShares,
  candidate: { readonly name: string; readonly id: number },
  node: string,
): number {
  let sum = 0;
  for (const [{ name }, share] of shares.at(candidate)) if (name === node) sum += share;
  return sum;
}

class WeightedMean {
  readonly #sum: Float64Array;
  readonly #weight: Float64Array;

  constructor(rows: number) {
    this.#sum = new Float64Array(rows);
    this.#weight = new Float64Array(rows);
  }

  add(values: Float64Array, weightAt: (row: number) => number): void {
    for (let row = 0; row < values.length; row++) {
      const value = values[row]!;
      if (Number.isNaN(value)) continue;
      const weight = weightAt(row);
      if (weight === 0) continue;
      this.#sum[row]! += value * weight;
      this.#weight[row]! += weight;
    }
  }

  values(): Float64Array {
    return this.#sum.map((sum, row) => sum / this.#weight[row]!);
  }
}

function requestsOf({ requestsPerSecond, bytesPerSecond }: Channel): number {
  return requestsPerSecond ?? (bytesPerSecond ?? 0) / DEFAULT_BYTES_PER_REQUEST;
}

function times(rate: number | null, share: number): number | null {
  return rate === null ? null : rate * share;
}

type Ranked = Pick<PeerCost, "bytesPerSecond" | "node" | "requestsPerSecond" | "workload">;

function byTraffic(a: Ranked, b: Ranked): number {
  const weight = (peer: Ranked): number =>
    peer.requestsPerSecond ?? (peer.bytesPerSecond ?? 0) / DEFAULT_BYTES_PER_REQUEST;
  return (
    weight(b) - weight(a) ||
    (a.workload < b.workload ? -1 : a.workload > b.workload ? 1 : a.node < b.node ? -1 : 1)
  );
}
