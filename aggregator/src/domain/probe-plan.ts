import { compareText } from "./compare.ts";
import type { NodeState } from "./cluster-state.ts";
import { hash53 } from "./hash.ts";

/** How many peers a node gets. */
export interface PeerRule {
  /** Up to so many nodes everybody probes everybody. */
  readonly fullMeshLimit: number;
  /** Beyond it: so many by rendezvous hash, the same on every replica and stable when other nodes come or go. */
  readonly peers: number;
  /** And one representative of each other zone, of at most so many zones. */
  readonly maxZones: number;
}

/** Names of the nodes that `node` probes, sorted. Only nodes that are ready: the others would only add known silence. */
export function selectPeers(node: NodeState, nodes: readonly NodeState[], rule: PeerRule): NodeState[] {
  const others = nodes.filter((candidate) => candidate.ready && candidate.name !== node.name);
  if (nodes.length <= rule.fullMeshLimit) return others;
  const ranked = others
    .map((candidate) => ({ candidate, weight: hash53(`${node.name}\n${candidate.name}`) }))
    .sort((a, b) => b.weight - a.weight || compareText(a.candidate.name, b.candidate.name))
    .map(({ candidate }) => candidate);
  const chosen = new Set([...ranked.slice(0, rule.peers), ...representatives(node, ranked, rule.maxZones)]);
  return others.filter((candidate) => chosen.has(candidate)).sort((a, b) => compareText(a.name, b.name));
}

/** The highest ranked node of each other zone. Zones are told apart within their region. */
function representatives(node: NodeState, ranked: readonly NodeState[], maxZones: number): NodeState[] {
  const own = zoneKey(node);
  const byZone = new Map<string, NodeState>();
  for (const candidate of ranked) {
    const zone = zoneKey(candidate);
    if (candidate.zone !== null && zone !== own && !byZone.has(zone)) byZone.set(zone, candidate);
  }
  return [...byZone.values()].slice(0, maxZones);
}

function zoneKey({ region, zone }: NodeState): string {
  return `${region ?? ""}\n${zone ?? ""}`;
}
