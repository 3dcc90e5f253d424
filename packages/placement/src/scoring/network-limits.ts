import { routingScopes, NO_NETWORK_LIMIT } from "@isochrone/topology";
import type { Channel, ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { AllocatedBandwidth } from "./allocated-bandwidth.ts";
import { nearestExchanges, peersOf } from "./neighbours.ts";
import type { PlacementProblem } from "./problem.ts";
import { NearestShares, Proximity } from "./routing.ts";
import type { Place, Shares } from "./routing.ts";

/**
 * Rejects candidates from which more placed peers are beyond `maxNetworkCost` than within: one far replica
 * has no veto. Unreachable counts as beyond; unknown has no vote.
 */
export function networkLimitViolations(problem: PlacementProblem): Map<string, string> {
  return violations(problem, {
    limitOf: reachLimit,
    rulerOf: reachRuler,
    words: costViolation,
  });
}

/**
 * Rejects candidates with too little free bandwidth, by the same majority. Free: the smaller of measured
 * headroom and capacity minus reservations. Unknown has no vote.
 */
export function bandwidthViolations(problem: PlacementProblem): Map<string, string> {
  return violations(problem, {
    // Negated, because less is worse.
    limitOf: ({ minBandwidthBitsPerSecond: need }) => (need === null || need === 0 ? null : -need),
    rulerOf: bandwidthRuler,
    words: bandwidthViolation,
  });
}

/** Maximum network cost of a channel, ms. Null: unlimited. */
export function reachLimit({ maxNetworkCost }: Channel): number | null {
  return maxNetworkCost === null || maxNetworkCost >= NO_NETWORK_LIMIT ? null : maxNetworkCost;
}

interface Rule {
  readonly limitOf: (channel: Channel) => number | null;
  readonly rulerOf: (graph: ClusterGraph, problem: PlacementProblem, workflow: WorkflowGraph) => Ruler;
  readonly words: (dialogue: Dialogue, votes: Votes, candidate: string) => string;
}

/** Measures from a peer's node to candidate ids. NaN: unknown, no vote. */
type Ruler = (calling: boolean, peer: Place, replicas: number) => (id: number) => number;

interface Dialogue {
  readonly channel: Channel;
  readonly calling: boolean;
  readonly limit: number;
  readonly peersAt: (candidate: Place) => readonly PeerNode[];
}

interface PeerNode extends Place {
  readonly replicas: number;
  readonly figureAt: (id: number) => number;
}

interface Votes {
  within: number;
  beyond: number;
  worst: number;
}

function violations(problem: PlacementProblem, rule: Rule): Map<string, string> {
  const found = new Map<string, string>();
  const graph = problem.cluster.graph;
  const workflow = problem.workflow.graph;
  if (graph === null || workflow === null || !workflow.channels.some((each) => rule.limitOf(each) !== null))
    return found;
  const dialogues = dialoguesOf(problem, graph, workflow, rule);
  if (dialogues.length === 0) return found;
  const ids = graph.idsOf(problem.candidates);
  for (const [row, name] of problem.candidates.entries()) {
    const candidate = { name, id: ids[row]! };
    const votes = { within: 0, beyond: 0, worst: -Infinity };
    const broken = dialogues.find((dialogue) => {
      count(dialogue, candidate, votes);
      return votes.beyond > votes.within;
    });
    if (broken !== undefined) found.set(name, rule.words(broken, votes, name));
  }
  return found;
}

function dialoguesOf(
  problem: PlacementProblem,
  graph: ClusterGraph,
  workflow: WorkflowGraph,
  { limitOf, rulerOf }: Rule,
): Dialogue[] {
  const { pod, assumed = [] } = problem;
  const ruler = rulerOf(graph, problem, workflow);
  const spread = new Map<string, { readonly channel: Channel; readonly calling: boolean; places: Place[] }>();
  for (const { channel, calling, node } of peersOf(pod, workflow, assumed)) {
    if (limitOf(channel) === null || routingScopes(channel) !== null) continue;
    const key = JSON.stringify([channel.source, channel.target, calling]);
    let end = spread.get(key);
    if (end === undefined) spread.set(key, (end = { channel, calling, places: [] }));
    end.places.push({ name: node, id: graph.idOf(node) });
  }
  const dialogues = [...spread.values()].map(({ channel, calling, places }): Dialogue => {
    const peers = peerNodes(places, calling, ruler);
    return { channel, calling, limit: limitOf(channel)!, peersAt: () => peers };
  });
  for (const ends of nearestExchanges(pod, graph, workflow, assumed)) {
    const { channel, calling } = ends;
    const limit = limitOf(channel);
    if (limit === null) continue;
    const shares = new NearestShares(ends, new Proximity(graph, routingScopes(channel)!));
    const grouped = new WeakMap<Shares, PeerNode[]>();
    const peersAt = (candidate: Place): PeerNode[] => {
      const chosen = shares.at(candidate);
      let peers = grouped.get(chosen);
      if (peers === undefined) {
        const places = chosen.map(([peer]) => peer);
        grouped.set(chosen, (peers = peerNodes(places, calling, ruler)));
      }
      return peers;
    };
    dialogues.push({ channel, calling, limit, peersAt });
  }
  return dialogues;
}

function peerNodes(places: readonly Place[], calling: boolean, ruler: Ruler): PeerNode[] {
  const byName = new Map<string, { readonly place: Place; replicas: number }>();
  for (const place of places) {
    const known = byName.get(place.name);
    if (known === undefined) byName.set(place.name, { place, replicas: 1 });
    else known.replicas++;
  }
  return Array.from(byName.values(), ({ place, replicas }) => {
    const figureAt = place.id < 0 ? () => Number.NaN : ruler(calling, place, replicas);
    return { ...place, replicas, figureAt };
  });
}

/** The candidate's own node is always within limits. */
function count({ limit, peersAt }: Dialogue, candidate: Place, votes: Votes): void {
  votes.within = 0;
  votes.beyond = 0;
  votes.worst = -Infinity;
  for (const { name, replicas, figureAt } of peersAt(candidate)) {
    if (name === candidate.name) votes.within += replicas;
    else if (candidate.id >= 0) {
      const figure = figureAt(candidate.id);
      if (figure <= limit) votes.within += replicas;
      else if (figure > limit) {
        votes.beyond += replicas;
        if (figure > votes.worst) votes.worst = figure;
      }
    }
  }
}

function costViolation(
  { channel, calling }: Dialogue,
  { worst, ...votes }: Votes,
  candidate: string,
): string {
  const cost = worst === Infinity ? "unreachable" : worst.toFixed(3);
  const { source, target, maxNetworkCost } = channel;
  return (
    `maxNetworkCost of channel ${source} -> ${target} is ${maxNetworkCost}, ` +
    `the network cost ${calling ? "from" : "to"} ${candidate} is ${cost} ` +
    `(${votes.beyond} of ${votes.beyond + votes.within} replicas beyond it)`
  );
}

function bandwidthViolation(
  { channel, calling }: Dialogue,
  { worst, ...votes }: Votes,
  candidate: string,
): string {
  const { source, target, minBandwidthBitsPerSecond } = channel;
  return (
    `minBandwidth of channel ${source} -> ${target} is ${minBandwidthBitsPerSecond} bit/s, ` +
    `the bandwidth free ${calling ? "from" : "to"} ${candidate} is ${Math.round(0 - worst)} bit/s per pair of pods ` +
    `(${votes.beyond} of ${votes.beyond + votes.within} replicas lack it)`
  );
}

function reachRuler(graph: ClusterGraph): Ruler {
  return (calling, peer) => {
    const to = graph.costsTo(peer.id);
    if (calling) return (id) => to[id]!;
    const from = graph.costsFrom(peer.id);
    return (id) => (Number.isNaN(from[id]!) ? to[id]! : from[id]!);
  };
}

/** Negated free bits per second from source to target, per replica of the pod. */
function bandwidthRuler(
  graph: ClusterGraph,
  { pod, assumed = [] }: PlacementProblem,
  workflow: WorkflowGraph,
): Ruler {
  const allocated = new AllocatedBandwidth(pod, workflow, assumed);
  return (calling, peer, replicas) => (id) => {
    const [from, to] = calling ? [id, peer.id] : [peer.id, id];
    const bandwidth = graph.bandwidthById(from, to);
    if (bandwidth === null) return Number.NaN;
    const { capacity, available } = bandwidth;
    const claimed = capacity === null ? 0 : allocated.between(graph.nodes[from]!.name, graph.nodes[to]!.name);
    const free = Math.min(available ?? Infinity, Math.max(0, (capacity ?? Infinity) - claimed));
    return free === Infinity ? Number.NaN : 0 - free / replicas;
  };
}
