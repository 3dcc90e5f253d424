import type { PeerCost, PeerCosts } from "@isochrone/placement";
import type { LinkChange, Peer, Rtt } from "@isochrone/topology";
import { shortMs } from "./decision-log.ts";

interface Side {
  readonly best: string | null;
  readonly peers: PeerCosts | null;
}

interface Changes {
  readonly links: readonly LinkChange[];
  readonly sentences: readonly string[];
}

/** Smaller differences of round trips (ms and share) aren't reported. */
const LEAST_MS = 0.5;
const LEAST_RATIO = 1.25;
const MAX_LINKS = 8;
const MAX_NAMED = 3;

export function changesOf(then: Side, now: Side, node: string | null): Changes {
  const interesting = [...new Set([node, then.best, now.best])].filter((name) => name !== null);
  const links =
    then.peers === null || now.peers === null ? [] : linkChanges(then.peers, now.peers, interesting);
  return {
    links,
    sentences: [
      ...(node === null ? [] : networkTime(then.peers, now.peers, node)),
      ...links.map(linkSentence),
      ...(then.peers === null || now.peers === null ? [] : movedPeers(then.peers, now.peers)),
      ...bestChange(then.best, now.best),
    ],
  };
}

export function shownPeers(peers: PeerCosts | null, candidates: ReadonlySet<string>): Peer[] {
  if (peers === null) return [];
  const { names } = peers;
  return peers.peers.map(({ ms, errorMs, ...peer }) => ({
    ...peer,
    errorMs: Object.fromEntries(
      [...errorMs.entries()]
        .map(([row, error]) => [names[row]!, error] as const)
        .filter(([name, error]) => candidates.has(name) && Number.isFinite(error)),
    ),
    rttMs: Object.fromEntries(
      names.flatMap((name, row) => (candidates.has(name) ? [[name, shownRtt(ms[row]!)] as const] : [])),
    ),
  }));
}

function shownRtt(ms: number): Rtt {
  return ms === Infinity ? "unreachable" : Number.isNaN(ms) ? null : ms;
}

function linkChanges(then: PeerCosts, now: PeerCosts, nodes: readonly string[]): LinkChange[] {
  const changes = new Map<string, LinkChange & { readonly size: number }>();
  for (const peer of then.peers) {
    const same = now.peers.find((other) => keyOf(other) === keyOf(peer));
    if (same === undefined) continue;
    for (const node of nodes) {
      const [before, after] = [msAt(then, peer, node), msAt(now, same, node)];
      if (!isChange(before, after)) continue;
      const [from, to] = peer.calling ? [node, peer.node] : [peer.node, node];
      const size = Math.abs(after - before);
      changes.set(JSON.stringify([from, to]), {
        from,
        to,
        thenMs: shownRtt(before),
        nowMs: shownRtt(after),
        size,
      });
    }
  }
  return [...changes.values()]
    .sort((a, b) => b.size - a.size)
    .slice(0, MAX_LINKS)
    .map(({ from, to, thenMs, nowMs }) => ({ from, to, thenMs, nowMs }));
}

function keyOf({ workload, calling, node }: PeerCost): string {
  return JSON.stringify([workload, calling, node]);
}

function msAt({ names }: PeerCosts, { ms }: PeerCost, node: string): number {
  return ms[names.indexOf(node)] ?? Number.NaN;
}

/** An unknown value on either side is no change. */
function isChange(before: number, after: number): boolean {
  if (Number.isNaN(before) || Number.isNaN(after) || before === after) return false;
  const [low, high] = before < after ? [before, after] : [after, before];
  return high - low >= LEAST_MS && high >= low * LEAST_RATIO;
}

function linkSentence({ from, to, thenMs, nowMs }: LinkChange): string {
  const link = `The link ${from} to ${to}`;
  if (nowMs === "unreachable") return `${link} took ${words(thenMs)} then; now ${to} doesn't answer.`;
  if (thenMs === "unreachable") return `${link} had no answer then and takes ${words(nowMs)} now.`;
  return `${link} took ${words(thenMs)} then and takes ${words(nowMs)} now.`;
}

function networkTime(then: PeerCosts | null, now: PeerCosts | null, node: string): string[] {
  const timeOf = (peers: PeerCosts | null): number =>
    peers?.networkMs[peers.names.indexOf(node)] ?? Number.NaN;
  const [before, after] = [timeOf(then), timeOf(now)];
  if (!isChange(before, after) || !Number.isFinite(before) || !Number.isFinite(after)) return [];
  return [
    `On ${node} a request of the pod took ${words(before)} on the network then and takes ${words(after)} now.`,
  ];
}

function movedPeers(then: PeerCosts, now: PeerCosts): string[] {
  const before = nodesByWorkload(then);
  return [...nodesByWorkload(now)].flatMap(([workload, nodes]) => {
    const previous = before.get(workload);
    if (
      previous === undefined ||
      (previous.size === nodes.size && [...previous].every((node) => nodes.has(node)))
    )
      return [];
    return [`${workload} ran on ${listed(previous)} then and runs on ${listed(nodes)} now.`];
  });
}

function nodesByWorkload({ peers }: PeerCosts): Map<string, Set<string>> {
  const nodes = new Map<string, Set<string>>();
  for (const { workload, node } of peers) {
    const of = nodes.get(workload) ?? new Set();
    nodes.set(workload, of.add(node));
  }
  return nodes;
}

function listed(nodes: ReadonlySet<string>): string {
  const names = [...nodes].sort();
  if (names.length > MAX_NAMED) return `${names.length} nodes`;
  return names.length === 1 ? names[0]! : `${names.slice(0, -1).join(", ")} and ${names.at(-1)!}`;
}

function bestChange(then: string | null, now: string | null): string[] {
  if (then === now) return [];
  if (now === null) return ["No node is feasible now."];
  if (then === null) return [`${now} scores highest now; no node was feasible then.`];
  return [`${then} scored highest then; ${now} scores highest now.`];
}

function words(ms: Rtt): string {
  if (typeof ms !== "number") return "an unknown time";
  return shortMs(ms);
}
