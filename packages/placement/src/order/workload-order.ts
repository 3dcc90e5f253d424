import { readAppGroupSpec } from "./app-group-spec.ts";
import type { AppGroupSpec, GroupDependency, GroupWorkload, WorkloadInfo } from "./app-group-spec.ts";
import { findCycles } from "./cycles.ts";
import type { DependencyGraph } from "./dependency-graph.ts";
import { shown } from "./order-fault.ts";
import type { OrderFault } from "./order-fault.ts";
import {
  DEFAULT_SORT_ALGORITHM,
  isSortAlgorithm,
  SORT_ALGORITHMS,
  sortTopologically,
} from "./sort-algorithms.ts";
import type { SortAlgorithm } from "./sort-algorithms.ts";
import { compareText } from "./text-order.ts";

export interface OrderedWorkload {
  readonly workload: WorkloadInfo;
  /** 1-based; a lower index is scheduled earlier. */
  readonly index: number;
}

export interface WorkloadOrder {
  /** Sorted by selector, because kube-scheduler's TopologicalSort plugin uses binary search. */
  readonly order: readonly OrderedWorkload[];
  readonly algorithm: SortAlgorithm;
  /** True if a cycle prevents sorting; the workloads then keep the order of the spec. */
  readonly isSpecOrder: boolean;
  readonly faults: readonly OrderFault[];
}

const MAX_CYCLES = 5;

/**
 * Computes the scheduling order of an AppGroup's workloads. Selectors identify workloads; duplicates are
 * merged. As upstream, an unknown algorithm means KahnSort and a cycle means the order of the spec. Unlike
 * upstream, workloads without dependencies get an index.
 */
export function workloadOrder(spec: unknown, algorithm?: SortAlgorithm): WorkloadOrder {
  const { spec: group, faults } = readAppGroupSpec(spec);
  const chosen = algorithm ?? chosenAlgorithm(group.algorithm, faults);
  const workloads = distinctWorkloads(group.workloads, faults);
  const graph = graphOf(group, faults);
  const sorted = sortTopologically(graph, chosen);
  if (sorted === null) faults.push(...cycleFaults(graph, group));
  return {
    order: (sorted ?? [...graph.keys()])
      .map((selector, at) => ({ workload: workloads.get(selector)!, index: at + 1 }))
      .sort((a, b) => compareText(a.workload.selector, b.workload.selector)),
    algorithm: chosen,
    isSpecOrder: sorted === null,
    faults,
  };
}

function chosenAlgorithm(name: string, faults: OrderFault[]): SortAlgorithm {
  if (isSortAlgorithm(name)) return name;
  faults.push({
    code: "UnknownAlgorithm",
    path: ["spec", "topologySortingAlgorithm"],
    rule: `must be one of ${SORT_ALGORITHMS.join(", ")} (${DEFAULT_SORT_ALGORITHM} is used)`,
    value: name,
  });
  return DEFAULT_SORT_ALGORITHM;
}

function distinctWorkloads(
  workloads: readonly GroupWorkload[],
  faults: OrderFault[],
): Map<string, WorkloadInfo> {
  const bySelector = new Map<string, WorkloadInfo>();
  for (const { path, workload } of workloads) {
    if (!bySelector.has(workload.selector)) bySelector.set(workload.selector, workload);
    else
      faults.push({
        code: "DuplicateSelector",
        path: [...path, "workload", "selector"],
        rule: "must be unique in the group (the workloads are ordered as one)",
        value: workload.selector,
      });
  }
  return bySelector;
}

function graphOf({ workloads }: AppGroupSpec, faults: OrderFault[]): DependencyGraph {
  const graph = new Map<string, string[]>(workloads.map(({ workload }) => [workload.selector, []]));
  const byName = new Map<string, string | typeof SEVERAL>();
  for (const { name, selector } of workloads.map(({ workload }) => workload))
    byName.set(name, (byName.get(name) ?? selector) === selector ? selector : SEVERAL);
  for (const { workload, dependencies } of workloads) {
    for (const dependency of dependencies) {
      const selector = resolve(dependency, graph, byName, faults);
      if (selector !== null) graph.get(workload.selector)!.push(selector);
    }
  }
  return graph;
}

const SEVERAL = Symbol("several");

function resolve(
  { path, workload: { name, selector } }: GroupDependency,
  graph: DependencyGraph,
  byName: ReadonlyMap<string, string | typeof SEVERAL>,
  faults: OrderFault[],
): string | null {
  if (graph.has(selector)) return selector;
  const meant = byName.get(name);
  const isNamed = typeof meant === "string";
  faults.push({
    code: isNamed ? "SelectorMismatch" : "UnknownDependency",
    path: [...path, "workload", "selector"],
    rule: isNamed
      ? `must be that of the workload ${shown(name)}, which is ${shown(meant)}`
      : "must be the selector of a workload of the group (the dependency is left out)",
    value: selector,
  });
  return isNamed ? meant : null;
}

function cycleFaults(graph: DependencyGraph, { workloads }: AppGroupSpec): OrderFault[] {
  return findCycles(graph, MAX_CYCLES).map((cycle) => ({
    code: "DependencyCycle" as const,
    path: workloads.find(({ workload }) => workload.selector === cycle[0])?.path ?? ["spec", "workloads"],
    rule: "must not depend on itself (all workloads stand in the order of the spec)",
    value: cycleText(cycle),
  }));
}

const SHOWN_OF_CYCLE = 6;

function cycleText(cycle: readonly string[]): string {
  const hidden = cycle.length - SHOWN_OF_CYCLE;
  const shown =
    hidden > 1 ? [...cycle.slice(0, SHOWN_OF_CYCLE), `(${hidden} more)`, cycle[0]!] : [...cycle, cycle[0]!];
  return shown.join(" -> ");
}
