// Sorts of KEP-260, as util/appgroup.go of diktyo-io/appgroup-controller. Roots are taken in order of their
// names, where Go iterates a map at random.
import { incomingOf, rootsOf } from "./dependency-graph.ts";
import type { DependencyGraph } from "./dependency-graph.ts";

export const SORT_ALGORITHMS = [
  "KahnSort",
  "TarjanSort",
  "ReverseKahn",
  "ReverseTarjan",
  "AlternateKahn",
  "AlternateTarjan",
] as const;

export type SortAlgorithm = (typeof SORT_ALGORITHMS)[number];

/** Replaces an unknown name, as upstream does. */
export const DEFAULT_SORT_ALGORITHM: SortAlgorithm = "KahnSort";

export function isSortAlgorithm(text: unknown): text is SortAlgorithm {
  return SORT_ALGORITHMS.some((name) => name === text);
}

export function sortTopologically(graph: DependencyGraph, algorithm: SortAlgorithm): string[] | null {
  const { sort, arrange } = STEPS[algorithm];
  const sorted = sort(graph);
  // Both sorts miss nodes if there is a cycle.
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

/** Takes the newest node without unsorted dependents. Omits nodes behind a cycle. */
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

/** Depth first. Returns an empty list if it meets a cycle; omits nodes that no root reaches. */
function tarjan(graph: DependencyGraph): string[] {
  const finished: string[] = [];
  const state = new Map<string, "open" | "done">();
  for (const root of rootsOf(graph).reverse()) {
    if (!visit(root, graph, state, finished)) return [];
  }
  return finished.reverse();
}

/** Returns false if there is a cycle. Iterative, because a chain can exceed the call stack. */
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

function alternate(sorted: readonly string[]): string[] {
  return sorted.map((_, at) => sorted[at % 2 === 0 ? at / 2 : sorted.length - (at + 1) / 2]!);
}
