// The topological sorts of KEP-260 (004), in the order in which diktyo-io/appgroup-controller
// util/appgroup.go works. There the nodes are walked in the random order of a Go map; here the tie-break is:
// of several nodes that nobody depends on, the one with the smaller name comes first. All else (dependencies
// in listed order, the last listed one first) is as there.
import { incomingOf, rootsOf } from "./dependency-graph.ts";
import type { DependencyGraph } from "./dependency-graph.ts";

/** Names as AppGroups have them in `spec.topologySortingAlgorithm`. */
export const SORT_ALGORITHMS = [
  "KahnSort",
  "TarjanSort",
  "ReverseKahn",
  "ReverseTarjan",
  "AlternateKahn",
  "AlternateTarjan",
] as const;

export type SortAlgorithm = (typeof SORT_ALGORITHMS)[number];

/** What is used in place of a name that is none: upstream's choice. */
export const DEFAULT_SORT_ALGORITHM: SortAlgorithm = "KahnSort";

export function isSortAlgorithm(text: unknown): text is SortAlgorithm {
  return SORT_ALGORITHMS.some((name) => name === text);
}

/** All nodes in the algorithm's order, or null when the graph has a cycle. */
export function sortTopologically(graph: DependencyGraph, algorithm: SortAlgorithm): string[] | null {
  const { sort, arrange } = STEPS[algorithm];
  const sorted = sort(graph);
  // Neither sort gets hold of all nodes when there is a cycle.
  return sorted.length < graph.size ? null : arrange(sorted);
}

interface Steps {
  readonly sort: (graph: DependencyGraph) => string[];
  readonly arrange: (sorted: string[]) => string[];
}

const unchanged = (sorted: string[]): string[] => sorted;
const reversed = (sorted: string[]): string[] => sorted.reverse();

const STEPS: Readonly<Record<SortAlgorithm, Steps>> = {
  KahnSort: { sort: kahn, arrange: unchanged },
  TarjanSort: { sort: tarjan, arrange: unchanged },
  ReverseKahn: { sort: kahn, arrange: reversed },
  ReverseTarjan: { sort: tarjan, arrange: reversed },
  AlternateKahn: { sort: kahn, arrange: alternate },
  AlternateTarjan: { sort: tarjan, arrange: alternate },
};

/**
 * Takes the node that came last of those that nobody is left to depend on. Nodes behind a cycle are left out.
 */
function kahn(graph: DependencyGraph): string[] {
  const incoming = incomingOf(graph);
  const free = rootsOf(graph).reverse();
  const sorted: string[] = [];
  for (let node = free.pop(); node !== undefined; node = free.pop()) {
    sorted.push(node);
    for (const dependency of graph.get(node) ?? []) {
      const left = (incoming.get(dependency) ?? 0) - 1;
      incoming.set(dependency, left);
      if (left === 0) free.push(dependency);
    }
  }
  return sorted;
}

/**
 * Depth first; a node comes before all that was finished earlier. Nothing when a cycle is met; one that no
 * root leads to is left out.
 */
function tarjan(graph: DependencyGraph): string[] {
  const finished: string[] = [];
  const state = new Map<string, "open" | "done">();
  for (const root of rootsOf(graph).reverse()) {
    if (!visit(root, graph, state, finished)) return [];
  }
  return finished.reverse();
}

/** False: there is a cycle. Without recursion: a chain may be longer than the call stack is deep. */
function visit(
  root: string,
  graph: DependencyGraph,
  state: Map<string, "open" | "done">,
  finished: string[],
): boolean {
  const path = [{ node: root, next: 0 }];
  state.set(root, "open");
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const dependency = graph.get(top.node)?.[top.next++];
    if (dependency === undefined) {
      state.set(top.node, "done");
      finished.push(top.node);
      path.pop();
    } else if (state.get(dependency) === "open") return false;
    else if (!state.has(dependency)) {
      state.set(dependency, "open");
      path.push({ node: dependency, next: 0 });
    }
  }
  return true;
}

/** First, last, second, last but one, ... */
function alternate(sorted: readonly string[]): string[] {
  return sorted.map((_, at) => sorted[at % 2 === 0 ? at / 2 : sorted.length - (at + 1) / 2]!);
}
