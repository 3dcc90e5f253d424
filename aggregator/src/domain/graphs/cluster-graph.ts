import { allSteps } from "@isochrone/primitives/algorithms";
import type { ClusterGraphSnapshot, ClusterNode, Link } from "@isochrone/topology";
import { BandwidthWalk, type LinkBandwidth, type NodeNetwork } from "../bandwidth/bandwidth-view.ts";
import type { Pair, PairBandwidth } from "../bandwidth/bandwidth.ts";
import type { ClusterState, NodeState } from "../cluster-state.ts";
import type { Coordinates } from "../../coordinates/domain/coordinates.ts";
import { ageSeconds, rfc3339 } from "./graph-time.ts";
import { LinkBuilder } from "./link-builder.ts";
import type { Tables } from "./tables.ts";
import type { UsageState } from "../usage/usage.ts";
import { panesOf, type WindowName } from "../windows/window-shape.ts";
import type { CostRule } from "./cost-rule.ts";

export interface GraphStamp {
  readonly version: number;
  readonly nowMs: number;
}

const NODES_PER_STEP = 500;
const LINKS_PER_STEP = 500;
/** Up to this many nodes, pairs with only a declared capacity are listed too. Their number is quadratic. */
const MAX_NODES_WITH_DECLARED_LINKS = 64;

/** Builds the graph at `stamp.nowMs`. No round-trip time in it is older than the window. */
export function buildClusterGraph(
  tables: Tables,
  cluster: ClusterState,
  rule: CostRule,
  stamp: GraphStamp,
  window: WindowName,
  coordinates: Coordinates | null = null,
): ClusterGraphSnapshot {
  return allSteps(clusterGraphSteps(tables, cluster, rule, stamp, window, coordinates));
}

/** Like {@link buildClusterGraph}, in steps between which the caller may yield. */
export function* clusterGraphSteps(
  tables: Tables,
  cluster: ClusterState,
  rule: CostRule,
  { version, nowMs }: GraphStamp,
  window: WindowName,
  coordinates: Coordinates | null = null,
): Generator<void, ClusterGraphSnapshot> {
  const { shape } = tables;
  const panes = panesOf(shape, window);
  const nodes: ClusterNode[] = [];
  for (const node of cluster.nodes) {
    nodes.push(buildNode(node, tables, nowMs, window, coordinates));
    if (nodes.length % NODES_PER_STEP === 0) yield;
  }
  const networks = new Map(nodes.map((node) => [node.name, networkOf(node)]));
  const walk = new BandwidthWalk(tables.bandwidth.sorted(), networks, nowMs);
  const links: Link[] = [];
  const addTested = (pairs: readonly PairBandwidth[]): void => {
    for (const pair of pairs) {
      const bandwidth = networks.has(pair.source) && networks.has(pair.target) ? walk.ofTested(pair) : null;
      if (bandwidth !== null) links.push(unprobedLink(pair, bandwidth, rule, "measured"));
    }
  };
  let untilStep = LINKS_PER_STEP;
  const states = tables.links.sorted();
  const baselines = window === "full" ? tables.baselines : null;
  baselines?.begin(tables.links.pairs);
  const context = { shape, rule, nowMs, window, figures: tables.figures, baselines };
  const builder = new LinkBuilder(context, tables.links.pairs);
  for (const link of states) {
    addTested(walk.before(link.key));
    links.push(builder.build(link, walk.of(link.key)));
    if (--untilStep > 0) continue;
    untilStep = LINKS_PER_STEP;
    yield;
  }
  addTested(walk.rest());
  yield* builder.writeErrors();
  if (nodes.length <= MAX_NODES_WITH_DECLARED_LINKS && addDeclared(links, networks, walk, rule)) {
    links.sort(tables.linkOrder);
  }
  return {
    version,
    observedAt: rfc3339(nowMs),
    windowSeconds: (panes * shape.paneMs) / 1000,
    costMethods: [...rule.methods],
    coordinates: coordinates === null ? null : coordinates.describe(nowMs),
    nodes,
    links,
  };
}

function addDeclared(
  links: Link[],
  networks: ReadonlyMap<string, NodeNetwork>,
  walk: BandwidthWalk,
  rule: CostRule,
): boolean {
  const declared = [...networks].filter(([, { capacity }]) => capacity !== null).map(([name]) => name);
  if (declared.length < 2) return false;
  const known = new Set(links.map(({ source, target }) => `${source}\n${target}`));
  const before = links.length;
  for (const source of declared) {
    for (const target of declared) {
      if (source === target || known.has(`${source}\n${target}`)) continue;
      const pair = { source, target };
      links.push(unprobedLink(pair, walk.ofDeclared(pair), rule, "declared"));
    }
  }
  return links.length > before;
}

/** A link without round-trip times, with the method that its cost would come from. */
export function unprobedLink(
  { source, target }: Pair,
  bandwidth: LinkBandwidth,
  rule: CostRule,
  origin: Link["origin"],
): Link {
  return {
    source,
    target,
    method: rule.methods[0]!,
    ipFamily: 4,
    rttMs: { p50: null, p90: null, p99: null, mean: null, count: 0 },
    lossRatio: null,
    jitterMs: null,
    ...bandwidth,
    costMs: null,
    errorMs: null,
    origin,
    provisional: false,
    ageSeconds: null,
    observedAt: null,
  };
}

function buildNode(
  { notReadySince: _inDown, ...node }: NodeState,
  tables: Tables,
  nowMs: number,
  window: WindowName,
  coordinates: Coordinates | null,
): ClusterNode {
  const usage = tables.nodes.get(node.name);
  const { figures } = tables;
  const of = (read: (usage: UsageState) => number | null): number | null =>
    usage === undefined ? null : figures.of(read(usage));
  const usedCores = of((usage) => usage.cpu(nowMs, window));
  const idleCores = of((usage) => usage.idleCpu(nowMs, window));
  return {
    ...node,
    availableCpuMillicores: available(
      node.allocatableCpuMillicores,
      millicores(usedCores),
      millicores(idleCores),
    ),
    availableMemoryBytes: available(
      node.allocatableMemoryBytes,
      of((usage) => usage.memory(nowMs, window)),
      of((usage) => usage.availableMemory(nowMs, window)),
    ),
    networkReceiveBitsPerSecond: of((usage) => usage.network("receive", nowMs, window)),
    networkTransmitBitsPerSecond: of((usage) => usage.network("transmit", nowMs, window)),
    coordinate: coordinates?.coordinateOf(node.name) ?? null,
    usageAgeSeconds: ageSeconds(usage?.newestMs, nowMs),
  };
}

export function networkOf(node: ClusterNode): NodeNetwork {
  return {
    capacity: node.networkCapacityBitsPerSecond ?? null,
    receive: node.networkReceiveBitsPerSecond ?? null,
    transmit: node.networkTransmitBitsPerSecond ?? null,
  };
}

function millicores(cores: number | null): number | null {
  return cores === null ? null : cores * 1000;
}

/** Allocatable minus used, else node_exporter's free memory, which includes the node's reserve. */
function available(allocatable: number | null, used: number | null, free: number | null): number | null {
  if (allocatable === null) return null;
  if (used !== null) return Math.max(0, allocatable - used);
  return free === null ? null : Math.min(allocatable, free);
}
