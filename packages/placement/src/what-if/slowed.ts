import { ClusterGraph, type ClusterGraphSnapshot, type Link } from "@isochrone/topology";
import { ChangeError, type Slowdown } from "./change.ts";

type Nodes = ReadonlySet<string>;
type Lengthened = (ms: number) => number;

export function slowed(cluster: ClusterGraphSnapshot, slowdowns: readonly Slowdown[]): ClusterGraphSnapshot {
  return slowdowns.reduce(slowedOnce, cluster);
}

function slowedOnce(cluster: ClusterGraphSnapshot, slowdown: Slowdown): ClusterGraphSnapshot {
  const { a, b, addMs, factor } = slowdown;
  const rule = `a slowed link ${a}:${b} must have`;
  if (!(Number.isFinite(factor) && factor > 0))
    throw new ChangeError(`${rule} a factor above 0, got ${factor}`);
  if (!(Number.isFinite(addMs) && addMs >= 0))
    throw new ChangeError(`${rule} 0 or more milliseconds to add, got ${addMs}`);
  const [from, to] = [nodesOf(cluster, a), nodesOf(cluster, b)];
  const isMeant = (source: string, target: string): boolean =>
    source !== target && ((from.has(source) && to.has(target)) || (to.has(source) && from.has(target)));
  const longer: Lengthened = (ms) => ms * factor + addMs;
  const links = cluster.links.map((link) =>
    isMeant(link.source, link.target) ? slowLink(link, longer) : link,
  );
  return { ...cluster, links: [...links, ...unmeasured(cluster, isMeant, longer)] };
}

function nodesOf({ nodes }: ClusterGraphSnapshot, name: string): Nodes {
  const inZone = nodes.filter(({ zone }) => zone === name).map((node) => node.name);
  const isNode = nodes.some((node) => node.name === name);
  if (isNode && inZone.length > 0)
    throw new ChangeError(`an end of a slowed link must be a node or a zone, got ${name}, which is both`);
  if (!isNode && inZone.length === 0)
    throw new ChangeError(`an end of a slowed link must be a node or a zone of the cluster, got ${name}`);
  return new Set(isNode ? [name] : inZone);
}

function slowLink(link: Link, longer: Lengthened): Link {
  const of = (ms: number | null): number | null => (ms === null ? null : longer(ms));
  const { p50, p90, p99, mean, count } = link.rttMs;
  return {
    ...link,
    rttMs: { p50: of(p50), p90: of(p90), p99: of(p99), mean: of(mean), count },
    costMs: of(link.costMs),
  };
}

/** Pairs with estimated or declared cost get their own link. */
function unmeasured(
  cluster: ClusterGraphSnapshot,
  isMeant: (source: string, target: string) => boolean,
  longer: Lengthened,
): Link[] {
  const linked = new Set(cluster.links.map(({ source, target }) => `${source} ${target}`));
  const graph = new ClusterGraph(cluster);
  const added: Link[] = [];
  for (const [from, { name: source }] of cluster.nodes.entries()) {
    for (const [to, { name: target }] of cluster.nodes.entries()) {
      if (!isMeant(source, target) || linked.has(`${source} ${target}`)) continue;
      const ms = graph.costMsById(from, to);
      if (Number.isFinite(ms)) added.push(statedLink(source, target, longer(ms)));
    }
  }
  return added;
}

const UNKNOWN = { p50: null, p90: null, p99: null, mean: null, count: 0 } as const;

function statedLink(source: string, target: string, costMs: number): Link {
  return {
    source,
    target,
    method: "udp_rr",
    ipFamily: 4,
    rttMs: UNKNOWN,
    lossRatio: null,
    jitterMs: null,
    bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
    costMs,
    errorMs: null,
    origin: "declared",
    provisional: false,
    ageSeconds: null,
    observedAt: null,
  };
}
