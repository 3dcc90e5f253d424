// K shortest simple paths (Yen 1971). Lengths are hops; of paths with equally many hops the wider comes
// first.
import { MinHeap } from "@isochrone/primitives";
import type { FlowNetwork } from "./flow-network.ts";

/** A way from one node to another. */
export interface Path {
  /** Indexes of the nodes from source to target, both included. */
  readonly nodes: readonly number[];
  /** Indexes of the capacities that it uses, one for each hop. Empty from a node to itself. */
  readonly hops: readonly number[];
}

/**
 * Paths that the planner chooses from for each pair of nodes.
 * @default 4, as measured: more change nothing
 */
const DEFAULT_PATHS = 4;

/** The shortest paths of each pair of nodes, found when they are first asked for and kept. */
export class PathTable {
  readonly #network: FlowNetwork;
  readonly #count: number;
  readonly #kept = new Map<number, readonly Path[]>();
  readonly #choices = new Map<number, readonly Path[]>();

  /** @param count paths for each pair, at least 1 */
  constructor(network: FlowNetwork, count = DEFAULT_PATHS) {
    this.#network = network;
    this.#count = count;
  }

  /** As many paths for each pair, of another network. */
  of(network: FlowNetwork): PathTable {
    return new PathTable(network, this.#count);
  }

  /** The shortest paths and the widest one; empty when no path leads from `source` to `target`. */
  choices(source: number, target: number): readonly Path[] {
    const key = source * this.#network.nodes.length + target;
    let choices = this.#choices.get(key);
    if (choices === undefined) {
      const shortest = this.between(source, target);
      const widest = source === target ? null : widestPath(this.#network, source, target);
      const isNew = widest !== null && !shortest.some((path) => isSame(path, widest));
      choices = isNew ? [...shortest, widest] : shortest;
      this.#choices.set(key, choices);
    }
    return choices;
  }

  /** The shortest first; empty when no path leads from `source` to `target`. */
  between(source: number, target: number): readonly Path[] {
    const key = source * this.#network.nodes.length + target;
    let paths = this.#kept.get(key);
    if (paths === undefined) {
      paths =
        source === target
          ? [{ nodes: [source], hops: [] }]
          : shortestPaths(this.#network, source, target, this.#count);
      this.#kept.set(key, paths);
    }
    return paths;
  }
}

/** Bits per second of its narrowest hop; Infinity from a node to itself. */
export function widthOf(path: Path, capacities: Float64Array): number {
  return path.hops.reduce((width, hop) => Math.min(width, capacities[hop]!), Infinity);
}

interface Banned {
  /** `source target` of arcs. */
  readonly arcs: ReadonlySet<string>;
  readonly nodes: ReadonlySet<number>;
  /** Capacities below this many bits per second. */
  readonly below: number;
}

const NOTHING: Banned = { arcs: new Set(), nodes: new Set(), below: 0 };

function shortestPaths(network: FlowNetwork, source: number, target: number, count: number): Path[] {
  const first = shortestPath(network, source, target, NOTHING);
  if (first === null) return [];
  const found = [first];
  const candidates: Path[] = [];
  while (found.length < count) {
    addDeviations(network, found, candidates, target);
    candidates.sort(
      (a, b) =>
        a.hops.length - b.hops.length || widthOf(b, network.capacities) - widthOf(a, network.capacities),
    );
    const next = candidates.shift();
    if (next === undefined) break;
    found.push(next);
  }
  return found;
}

/**
 * For each node of the newest path: the shortest path that leaves it elsewhere than all found paths with the
 * same beginning.
 */
function addDeviations(
  network: FlowNetwork,
  found: readonly Path[],
  candidates: Path[],
  target: number,
): void {
  const newest = found.at(-1)!;
  for (let at = 0; at < newest.nodes.length - 1; at++) {
    const root = newest.nodes.slice(0, at + 1);
    const arcs = new Set<string>();
    for (const { nodes } of found)
      if (root.every((node, index) => nodes[index] === node)) arcs.add(`${nodes[at]!} ${nodes[at + 1]!}`);
    const banned = { arcs, nodes: new Set(root.slice(0, -1)), below: 0 };
    const spur = shortestPath(network, root[at]!, target, banned);
    if (spur === null) continue;
    const path = {
      nodes: [...root.slice(0, -1), ...spur.nodes],
      hops: [...newest.hops.slice(0, at), ...spur.hops],
    };
    if (![...candidates, ...found].some((other) => isSame(other, path))) candidates.push(path);
  }
}

/** The path whose narrowest hop is widest, and of these a shortest. Null without a path. */
function widestPath(network: FlowNetwork, source: number, target: number): Path | null {
  const width = new Float64Array(network.nodes.length);
  width[source] = Infinity;
  const open = new MinHeap<number>();
  open.push(-Infinity, source);
  for (let node = open.pop(); node !== undefined && node !== target; node = open.pop())
    for (const arc of network.arcsFrom(node)) {
      const reach = Math.min(width[node]!, network.capacities[arc.capacity]!);
      if (reach <= width[arc.target]!) continue;
      width[arc.target] = reach;
      open.push(-reach, arc.target);
    }
  return width[target] === 0
    ? null
    : shortestPath(network, source, target, { ...NOTHING, below: width[target]! });
}

function isSame(a: Path, b: Path): boolean {
  return a.nodes.length === b.nodes.length && a.nodes.every((node, index) => b.nodes[index] === node);
}

/** Breadth first; of equally short paths the widest. Null without a path. */
function shortestPath(network: FlowNetwork, source: number, target: number, banned: Banned): Path | null {
  const count = network.nodes.length;
  const distance = new Int32Array(count).fill(-1);
  const width = new Float64Array(count);
  const previous = new Int32Array(count);
  const hopTo = new Int32Array(count);
  distance[source] = 0;
  width[source] = Infinity;
  const queue = [source];
  for (const node of queue) {
    if (node === target) break;
    for (const arc of network.arcsFrom(node)) {
      const next = arc.target;
      const isNew = distance[next] === -1;
      if (!isNew && distance[next] !== distance[node]! + 1) continue;
      if (banned.nodes.has(next) || network.capacities[arc.capacity]! < banned.below) continue;
      if (banned.arcs.size > 0 && banned.arcs.has(`${node} ${next}`)) continue;
      const reach = Math.min(width[node]!, network.capacities[arc.capacity]!);
      if (isNew) queue.push(next);
      else if (reach <= width[next]!) continue;
      distance[next] = distance[node]! + 1;
      width[next] = reach;
      previous[next] = node;
      hopTo[next] = arc.capacity;
    }
  }
  if (distance[target] === -1) return null;
  const nodes = [target];
  const hops: number[] = [];
  for (let node = target; node !== source; node = previous[node]!) {
    hops.push(hopTo[node]!);
    nodes.push(previous[node]!);
  }
  return { nodes: nodes.reverse(), hops: hops.reverse() };
}
