// A decision's pod location, and its nodes then and now side by side. Pure.
import type { Candidate, Decision, Peer, Rtt } from "@isochrone/topology";
import { failureOf, moveStateOf } from "../model/move.ts";

interface Whereabouts {
  readonly node: string | null;
  readonly note: string | null;
}

export function whereOf(decision: Decision): Whereabouts {
  const { kind, binding, best } = decision;
  if (kind === "eviction") return whereReplaced(decision);
  if (binding === undefined) return { node: null, note: "not known" };
  const { node, state, agreement } = binding;
  if (node === null) return { node, note: state === "gone" ? "gone, never placed" : "not placed yet" };
  const notes = [
    ...(state === "gone" ? ["gone"] : []),
    ...(agreement === "tie" ? ["tie"] : []),
    ...(agreement === "otherwise" && best !== null ? [`best: ${best}`] : []),
  ];
  return { node, note: notes.length === 0 ? null : notes.join(", ") };
}

/** A moved pod is where its replacement is; a withdrawn move leaves it in place. */
function whereReplaced(decision: Decision): Whereabouts {
  const { binding, best, outcome } = decision;
  const left = binding?.node ?? null;
  const node = outcome?.result === "withdrawn" ? left : (outcome?.node ?? null);
  const from = left === null ? "" : ` from ${left}`;
  const way = `${from}${best === null ? "" : ` to ${best}`}`;
  const state = moveStateOf(decision);
  if (state === "moving") return { node, note: `moving${way}` };
  if (state === "failed") return { node, note: `move${way} failed` };
  return { node, note: from === "" ? null : from.trim() };
}

export function becauseOf({ binding, explanation, kind }: Decision): string {
  if (binding?.agreement === "otherwise" && binding.reason !== null) return binding.reason;
  // The second sentence of a score says what it means for requests.
  return explanation.slice(0, kind === "score" ? 2 : 1).join(" ");
}

export function headlineOf(decision: Decision): string {
  const { pod, kind, binding, best } = decision;
  const { name } = pod;
  if (kind === "eviction") return moveHeadline(decision);
  const choice = best === null ? "no node was feasible" : `Isochrone would choose ${best}`;
  if (binding === undefined) return `Where ${name} runs isn't known; ${choice}.`;
  const { node, state, agreement } = binding;
  if (node === null)
    return `${name} ${state === "gone" ? "is gone and never had a node" : "has no node yet"}; ${choice}.`;
  const runs = state === "gone" ? `${name} is gone; it ran on ${node}` : `${name} runs on ${node}`;
  if (agreement === "as_chosen") return `${runs}, as Isochrone chose.`;
  if (agreement === "tie") return `${runs}, one of several best nodes.`;
  return best === null || agreement === null ? `${runs}.` : `${runs}; Isochrone would have chosen ${best}.`;
}

function moveHeadline(decision: Decision): string {
  const { pod, binding, best, outcome } = decision;
  const left = binding?.node ?? null;
  const from = left === null ? "" : ` from ${left}`;
  const way = `${from}${best === null ? "" : ` to ${best}`}`;
  const state = moveStateOf(decision);
  if (state === "moving") return `${pod.name} is moving${way}.`;
  if (state === "failed") return `The move of ${pod.name}${way} failed: ${failureOf(decision)}.`;
  return `${pod.name} was moved${from} to ${outcome?.node ?? "an unknown node"}.`;
}

export interface ComparedNode {
  readonly name: string;
  readonly previous: Candidate | null;
  readonly current: Candidate | null;
  readonly isHome: boolean;
  readonly isBest: boolean;
  readonly isBestNow: boolean;
}

const byScore = (a: Candidate, b: Candidate): number =>
  Number(b.feasible) - Number(a.feasible) || b.score - a.score || (a.name < b.name ? -1 : 1);

/** In the original order; nodes known only to the current answer come last. */
export function nodesOf({ candidates, now, binding, best }: Decision): ComparedNode[] {
  const [then, later] = [byName(candidates), byName(now?.candidates ?? [])];
  const names = new Set([...candidates, ...(now?.candidates ?? [])].map(({ name }) => name));
  const order = [...[...candidates].sort(byScore).map(({ name }) => name), ...names];
  return [...new Set(order)].map((name) => ({
    name,
    previous: then.get(name) ?? null,
    current: later.get(name) ?? null,
    isHome: name === binding?.node,
    isBest: name === best,
    isBestNow: now !== undefined && name === now.best,
  }));
}

function byName(candidates: readonly Candidate[]): ReadonlyMap<string, Candidate> {
  return new Map(candidates.map((candidate) => [candidate.name, candidate]));
}

const MAX_COMPARED = 4;

/**
 * Nodes whose round trips to the peers are shown: the pod's, the best then and now, then the next best and
 * the worst.
 */
export function comparedNodes({ binding, best, now, candidates }: Decision): string[] {
  const ranked = [...(now?.candidates ?? candidates)].sort(byScore).map(({ name }) => name);
  const first = [binding?.node ?? null, best, now?.best ?? null, ranked[0] ?? null, ranked[1] ?? null];
  const worst = ranked.at(-1) ?? null;
  const nodes = [...new Set(first.filter((name) => name !== null))].slice(0, MAX_COMPARED - 1);
  return [...new Set([...nodes, ...(worst === null ? [] : [worst])])];
}

interface ComparedPeer {
  readonly peer: Peer;
  readonly before: Readonly<Record<string, Rtt>> | null;
}

export function peersOf({ peers = [], now }: Decision): ComparedPeer[] {
  if (now === undefined || now.peers.length === 0) return peers.map((peer) => ({ peer, before: null }));
  const key = ({ workload, calling, node }: Peer): string => JSON.stringify([workload, calling, node]);
  const then = new Map(peers.map((peer) => [key(peer), peer.rttMs]));
  return now.peers.map((peer) => ({ peer, before: then.get(key(peer)) ?? null }));
}

/** Direction of measurement: from the connection's initiator. */
export function pairOf(
  { calling, node }: Peer,
  from: string,
): { readonly source: string; readonly target: string } {
  return calling ? { source: from, target: node } : { source: node, target: from };
}

const LEAST_MS = 0.5;
const LEAST_RATIO = 1.25;

export function isOther(then: Rtt | undefined, now: Rtt): boolean {
  if (then === undefined || then === null || now === null || then === now) return false;
  if (typeof then === "string" || typeof now === "string") return true;
  return Math.abs(then - now) >= LEAST_MS && Math.max(then, now) >= Math.min(then, now) * LEAST_RATIO;
}
