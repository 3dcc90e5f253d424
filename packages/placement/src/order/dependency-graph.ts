import { compareText } from "./text-order.ts";

/**
 * Who depends on whom: for every node its dependencies in the order in which they are listed. All of them are
 * nodes themselves.
 */
export type DependencyGraph = ReadonlyMap<string, readonly string[]>;

/** Nodes that nobody depends on, by name. */
export function rootsOf(graph: DependencyGraph): string[] {
  const incoming = incomingOf(graph);
  return [...graph.keys()].filter((node) => incoming.get(node) === 0).sort(compareText);
}

/** How often each node is listed as a dependency. */
export function incomingOf(graph: DependencyGraph): Map<string, number> {
  const incoming = new Map([...graph.keys()].map((node) => [node, 0]));
  for (const dependencies of graph.values()) {
    for (const dependency of dependencies) incoming.set(dependency, (incoming.get(dependency) ?? 0) + 1);
  }
  return incoming;
}
