import type { DependencyGraph } from "./dependency-graph.ts";
import { compareText } from "./text-order.ts";

/**
 * Returns up to `limit` node-disjoint cycles, smallest name first: [a, b, c] if a depends on b, b on c and c
 * on a.
 */
export function findCycles(graph: DependencyGraph, limit: number): string[][] {
  const cycles: string[][] = [];
  const left = new Set([...graph.keys()].sort(compareText));
  while (cycles.length < limit) {
    dropFree(graph, left);
    const [start] = left;
    if (start === undefined) break;
    const cycle = shortestThrough(someNodeOnCycle(graph, left, start), graph, left);
    cycles.push(smallestFirst(cycle));
    for (const node of cycle) left.delete(node);
  }
  return cycles;
}

/** Repeatedly removes nodes without dependencies. Each remaining node leads to a cycle. */
function dropFree(graph: DependencyGraph, left: Set<string>): void {
  const dependents = new Map<string, string[]>();
  const counts = new Map<string, number>();
  for (const node of left) {
    const dependencies = (graph.get(node) ?? []).filter((dependency) => left.has(dependency));
    counts.set(node, dependencies.length);
    for (const dependency of dependencies) {
      const known = dependents.get(dependency);
      if (known) known.push(node);
      else dependents.set(dependency, [node]);
    }
  }
  const free = [...left].filter((node) => counts.get(node) === 0);
  for (let node = free.pop(); node !== undefined; node = free.pop()) {
    left.delete(node);
    for (const dependent of dependents.get(node) ?? []) {
      const count = (counts.get(dependent) ?? 0) - 1;
      counts.set(dependent, count);
      if (count === 0) free.push(dependent);
    }
  }
}

/** Every remaining node has a remaining dependency, so following them must revisit a node. */
function someNodeOnCycle(graph: DependencyGraph, left: ReadonlySet<string>, start: string): string {
  const seen = new Set<string>();
  let node = start;
  while (!seen.has(node)) {
    seen.add(node);
    node = graph.get(node)!.find((dependency) => left.has(dependency))!;
  }
  return node;
}

function shortestThrough(node: string, graph: DependencyGraph, left: ReadonlySet<string>): string[] {
  const cameFrom = new Map<string, string>();
  const queue = [node];
  for (const current of queue) {
    for (const dependency of graph.get(current) ?? []) {
      if (!left.has(dependency)) continue;
      if (dependency === node) return pathTo(current, node, cameFrom);
      if (cameFrom.has(dependency)) continue;
      cameFrom.set(dependency, current);
      queue.push(dependency);
    }
  }
  return [node];
}

function pathTo(end: string, start: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const path = [end];
  for (let node = end; node !== start; path.push(node)) node = cameFrom.get(node)!;
  return path.reverse();
}

function smallestFirst(cycle: readonly string[]): string[] {
  const smallest = cycle.reduce((a, b) => (compareText(a, b) <= 0 ? a : b));
  const at = cycle.indexOf(smallest);
  return [...cycle.slice(at), ...cycle.slice(0, at)];
}
