import { compareText } from "./text-order.ts";

/** Dependencies of each node, in listed order. Every dependency is a key, too. */
export type DependencyGraph = ReadonlyMap<string, readonly string[]>;

export function rootsOf(graph: DependencyGraph): string[] {
  const incoming = incomingOf(graph);
  return [...graph.keys()].filter((node) => incoming.get(node) === 0).sort(compareText);
}

export function incomingOf(graph: DependencyGraph): Map<string, number> {
  const incoming = new Map([...graph.keys()].map((node) => [node, 0]));
  for (const dependencies of graph.values()) {
    for (const dependency of dependencies) incoming.set(dependency, (incoming.get(dependency) ?? 0) + 1);
  }
  return incoming;
}
