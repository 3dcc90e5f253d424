import {
  ClusterGraph,
  STALE_AFTER_WINDOWS,
  type ClusterGraphSnapshot,
  type ClusterNode,
  type NodeFigures,
  type ReadNodeAnnotations,
} from "@isochrone/topology";
import { changeOf, exceeds, GAINED, NODE_THRESHOLDS, UNWANTED } from "./change.ts";
import { extentMs, movementMs, type Motion } from "./frame.ts";

/** Maximum cluster size for cost annotations; larger clusters have only coordinates. */
const MAX_NODES_WITH_COSTS = 64;

export interface WantedNodes {
  /** Unreachable nodes by node; a stale cost to one is worse than none. */
  readonly unreachable: ReadonlyMap<string, ReadonlySet<string>>;
  readonly figures: ReadonlyMap<string, NodeFigures>;
  readonly hasCosts: boolean;
  /** Scale for movements of coordinates, ms. */
  readonly extentMs: number;
}

/** @param motion applied to coordinates before a write; null: omit coordinates */
export function wantedNodes(graph: ClusterGraphSnapshot, motion: Motion | null): WantedNodes {
  const hasCosts = graph.nodes.length <= MAX_NODES_WITH_COSTS;
  const costs = hasCosts ? new ClusterGraph(graph) : null;
  const maxAgeSeconds = STALE_AFTER_WINDOWS * graph.windowSeconds;
  const coordinatesFit = (graph.coordinates?.ageSeconds ?? Infinity) <= maxAgeSeconds;
  const figures = new Map<string, NodeFigures>();
  const coordinates: number[][] = [];
  const unreachable = new Map<string, ReadonlySet<string>>();
  for (const node of graph.nodes) {
    const isFresh = (node.usageAgeSeconds ?? Infinity) <= maxAgeSeconds;
    const coordinate =
      node.coordinate === null || !coordinatesFit || motion === null ? null : motion(node.coordinate);
    if (coordinate !== null) coordinates.push(coordinate);
    const { measuredMs, lost } = costs === null ? NO_COSTS : measuredCosts(costs, node);
    if (lost.size > 0) unreachable.set(node.name, lost);
    figures.set(node.name, {
      availableCpuMillicores: isFresh ? amount(node.availableCpuMillicores) : null,
      availableMemoryBytes: isFresh ? amount(node.availableMemoryBytes) : null,
      networkCostsMs: measuredMs,
      coordinate,
    });
  }
  return { figures, unreachable, hasCosts, extentMs: extentMs(coordinates) };
}

interface CostsOfNode {
  readonly measuredMs: ReadonlyMap<string, number>;
  readonly lost: ReadonlySet<string>;
}

const NO_COSTS: CostsOfNode = { measuredMs: new Map(), lost: new Set() };

function amount(value: number | null): number | null {
  return value !== null && value >= 0 && Number.isFinite(value) ? value : null;
}

/** Excludes estimates, which readers derive from coordinates, and unreachable or stale links. */
function measuredCosts(graph: ClusterGraph, { name }: ClusterNode): CostsOfNode {
  const measuredMs = new Map<string, number>();
  const lost = new Set<string>();
  for (const other of graph.nodes) {
    if (other.name === name) continue;
    const cost = graph.cost(name, other.name);
    if (cost.known && cost.origin !== "estimated") measuredMs.set(other.name, cost.ms);
    if (!cost.known && cost.reason === "unreachable") lost.add(other.name);
  }
  return { measuredMs, lost };
}

/** Change of a node's annotations in thresholds; 1 and above is significant. */
export function nodeChange(
  name: string,
  written: ReadNodeAnnotations,
  wanted: NodeFigures,
  all: WantedNodes,
): number {
  let change = Math.max(
    changeOf(written.availableCpuMillicores, wanted.availableCpuMillicores, NODE_THRESHOLDS.cpuMillicores),
    changeOf(written.availableMemoryBytes, wanted.availableMemoryBytes, NODE_THRESHOLDS.memoryBytes),
    coordinateChange(written.coordinate, wanted.coordinate, all.extentMs),
    written.faults.length > 0 ? UNWANTED : 0,
  );
  for (const [node, costMs] of wanted.networkCostsMs)
    change = Math.max(
      change,
      changeOf(written.networkCostsMs.get(node) ?? null, costMs, NODE_THRESHOLDS.costMs),
    );
  for (const node of written.networkCostsMs.keys())
    if (!all.hasCosts || !all.figures.has(node) || all.unreachable.get(name)?.has(node) === true)
      change = Math.max(change, UNWANTED);
  return change;
}

function coordinateChange(
  written: readonly number[] | null,
  wanted: readonly number[] | null,
  extent: number,
): number {
  if (wanted === null) return 0;
  return written === null ? GAINED : exceeds(movementMs(written, wanted), extent, NODE_THRESHOLDS.coordinate);
}

export function ownAnnotations(
  annotations: Readonly<Record<string, string>>,
  prefix: string,
  isOwn: (name: string) => boolean,
): Map<string, string> {
  const own = Object.entries(annotations).filter(
    ([key]) => key.startsWith(prefix) && isOwn(key.slice(prefix.length)),
  );
  return new Map(own);
}
