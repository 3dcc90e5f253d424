// K shortest simple paths (Yen 1971) by hops; wider paths first among equals.
import { MinHeap } from "@isochrone/primitives";
import type { FlowNetwork } from "./flow-network.ts";

export interface Path {
  readonly nodes: readonly number[];
  /** Capacity index per hop. Empty from a node to itself. */
  readonly hops: readonly number[];
}

/** Paths per node pair available to the planner. @default 4, since more change nothing in measurements */
const DEFAULT_PATHS = 4;

/** Shortest paths per node pair, computed lazily and cached. */
export class PathTable {
  readonly #network: FlowNetwork;
  readonly #count: number;
  readonly #search: PathSearch;
  readonly #kept = new Map<number, readonly Path[]>();
  readonly #choices = new Map<number, readonly Path[]>();

  constructor(network: FlowNetwork, count = DEFAULT_PATHS) {
    this.#network = network;
    this.#count = count;
    this.#search = new PathSearch(network);
  }

  /** A table for another network with the same count. */
  of(network: FlowNetwork): PathTable {
    return new PathTable(network, this.#count);
  }

  /** The shortest paths and the widest one; empty if unreachable. */
  choices(source: number, target: number): readonly Path[] {
    const key = source * this.#network.nodes.length + target;
    let choices = this.#choices.get(key);
    if (choices === undefined) {
      const shortest = this.between(source, target);
      const widest = source === target ? null : this.#search.widest(source, target);
      const isNew = widest !== null && !shortest.some((path) => isSame(path, widest));
      choices = isNew ? [...shortest, widest] : shortest;
      this.#choices.set(key, choices);
    }
    return choices;
  }

  /** Shortest first; empty if unreachable. */
  between(source: number, target: number): readonly Path[] {
    const key = source * this.#network.nodes.length + target;
    let paths = this.#kept.get(key);
    if (paths === undefined) {
      paths =
        source === target
          ? [{ nodes: [source], hops: [] }]
          : this.#search.shortestPaths(source, target, this.#count);
      this.#kept.set(key, paths);
    }
    return paths;
  }
}

export function widthOf(path: Path, capacities: Float64Array): number {
  return path.hops.reduce((width, hop) => Math.min(width, capacities[hop]!), Infinity);
}

interface Banned {
  readonly next: ReadonlySet<number>;
  readonly nodes: ReadonlySet<number>;
  readonly below: number;
}

const NOTHING: Banned = { next: new Set(), nodes: new Set(), below: 0 };

const FAR = 2 ** 30;

class PathSearch {
  readonly #network: FlowNetwork;
  /** Hops from the source by node, valid if marked by this search. */
  readonly #distance: Int32Array;
  readonly #marks: Int32Array;
  readonly #width: Float64Array;
  readonly #previous: Int32Array;
  readonly #hopTo: Int32Array;
  readonly #queue: Int32Array;
  readonly #sources: readonly (readonly number[])[];
  /** Hops to `#target` by node without exclusions; `FAR` if unreachable. */
  readonly #ahead: Int32Array;
  #target = -1;
  /** Hops of the shortest path excluded by the last search's limit. */
  #beyond = 0;
  #mark = 0;

  constructor(network: FlowNetwork) {
    const count = network.nodes.length;
    this.#network = network;
    this.#distance = new Int32Array(count);
    this.#marks = new Int32Array(count);
    this.#width = new Float64Array(count);
    this.#previous = new Int32Array(count);
    this.#hopTo = new Int32Array(count);
    this.#queue = new Int32Array(count);
    this.#ahead = new Int32Array(count);
    const sources = Array.from({ length: count }, (): number[] => []);
    for (const node of sources.keys())
      for (const { target } of network.arcsFrom(node)) sources[target]!.push(node);
    this.#sources = sources;
  }

  shortestPaths(source: number, target: number, count: number): Path[] {
    const first = this.#shortest(source, target, NOTHING);
    if (first === null) return [];
    const found = [first];
    const candidates: Path[] = [];
    const { capacities } = this.#network;
    while (found.length < count) {
      this.#addDeviations(found, candidates, target);
      candidates.sort(
        (a, b) => a.hops.length - b.hops.length || widthOf(b, capacities) - widthOf(a, capacities),
      );
      const next = candidates.shift();
      if (next === undefined) break;
      found.push(next);
    }
    return found;
  }

  /** Widest path, shortest among equals. Null without a path. */
  widest(source: number, target: number): Path | null {
    const { nodes, capacities } = this.#network;
    const width = new Float64Array(nodes.length);
    width[source] = Infinity;
    const open = new MinHeap<number>();
    open.push(-Infinity, source);
    for (let node = open.pop(); node !== undefined && node !== target; node = open.pop())
      for (const arc of this.#network.arcsFrom(node)) {
        const reach = Math.min(width[node]!, capacities[arc.capacity]!);
        if (reach <= width[arc.target]!) continue;
        width[arc.target] = reach;
        open.push(-reach, arc.target);
      }
    return width[target] === 0 ? null : this.#shortest(source, target, { ...NOTHING, below: width[target]! });
  }

  /**
   * For each node of the newest path: the shortest path that deviates there from all found paths with the
   * same prefix.
   */
  #addDeviations(found: readonly Path[], candidates: Path[], target: number): void {
    const newest = found.at(-1)!;
    for (let at = 0; at < newest.nodes.length - 1; at++) {
      const root = newest.nodes.slice(0, at + 1);
      const next = new Set<number>();
      for (const { nodes } of found)
        if (root.every((node, index) => nodes[index] === node)) next.add(nodes[at + 1]!);
      const spur = this.#shortest(root[at]!, target, { next, nodes: new Set(root.slice(0, -1)), below: 0 });
      if (spur === null) continue;
      const path = {
        nodes: [...root.slice(0, -1), ...spur.nodes],
        hops: [...newest.hops.slice(0, at), ...spur.hops],
      };
      if (![...candidates, ...found].some((other) => isSame(other, path))) candidates.push(path);
    }
  }

  /**
   * Breadth-first; widest among equally short paths. Prunes nodes too far from the target for `limit` hops,
   * which excludes most of a large network. Null without a path.
   */
  #shortest(source: number, target: number, banned: Banned): Path | null {
    this.#lookAhead(target);
    const queue = this.#queue;
    let limit = this.#ahead[source]!;
    while (limit < FAR) {
      this.#begin(source);
      this.#beyond = FAR;
      let length = 1;
      for (let at = 0; at < length; at++) {
        const node = queue[at]!;
        // Nodes at the target's distance are not on a shortest path to it.
        if (this.#isReached(target) && this.#distance[node]! >= this.#distance[target]!) break;
        length = this.#visitNext(node, node === source, banned, length, limit);
      }
      if (this.#isReached(target)) return this.#pathTo(source, target);
      limit = this.#beyond;
    }
    return null;
  }

  #lookAhead(target: number): void {
    if (this.#target === target) return;
    this.#target = target;
    this.#ahead.fill(FAR);
    this.#ahead[target] = 0;
    this.#queue[0] = target;
    let length = 1;
    for (let at = 0; at < length; at++)
      for (const node of this.#sources[this.#queue[at]!]!) {
        if (this.#ahead[node] !== FAR) continue;
        this.#ahead[node] = this.#ahead[this.#queue[at]!]! + 1;
        this.#queue[length++] = node;
      }
  }

  #begin(source: number): void {
    this.#mark++;
    this.#marks[source] = this.#mark;
    this.#distance[source] = 0;
    this.#width[source] = Infinity;
    this.#queue[0] = source;
  }

  #isReached(node: number): boolean {
    return this.#marks[node] === this.#mark;
  }

  #visitNext(node: number, isSource: boolean, banned: Banned, length: number, limit: number): number {
    const { capacities } = this.#network;
    const away = this.#distance[node]! + 1;
    let queued = length;
    for (const { target: next, capacity } of this.#network.arcsFrom(node)) {
      const isNew = !this.#isReached(next);
      if (!isNew && this.#distance[next] !== away) continue;
      if (banned.nodes.has(next) || capacities[capacity]! < banned.below) continue;
      if (isSource && banned.next.has(next)) continue;
      if (isNew && away + this.#ahead[next]! > limit) {
        this.#beyond = Math.min(this.#beyond, away + this.#ahead[next]!);
        continue;
      }
      const reach = Math.min(this.#width[node]!, capacities[capacity]!);
      if (isNew) this.#queue[queued++] = next;
      else if (reach <= this.#width[next]!) continue;
      this.#marks[next] = this.#mark;
      this.#distance[next] = away;
      this.#width[next] = reach;
      this.#previous[next] = node;
      this.#hopTo[next] = capacity;
    }
    return queued;
  }

  #pathTo(source: number, target: number): Path {
    const nodes = [target];
    const hops: number[] = [];
    for (let node = target; node !== source; node = this.#previous[node]!) {
      hops.push(this.#hopTo[node]!);
      nodes.push(this.#previous[node]!);
    }
    return { nodes: nodes.reverse(), hops: hops.reverse() };
  }
}

function isSame(a: Path, b: Path): boolean {
  return a.nodes.length === b.nodes.length && a.nodes.every((node, index) => b.nodes[index] === node);
}
