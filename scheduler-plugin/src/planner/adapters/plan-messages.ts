import type { DomainConstraint, PlanProblem } from "@isochrone/placement";
import { WorkflowGraph } from "@isochrone/topology";
import type { ClusterGraph, ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";
import { definedOf } from "@isochrone/primitives";
import type { PlanTurn } from "../domain/early-plans.ts";
import type { SearchOptions, SearchResult } from "../domain/search.ts";

export interface NodeColumns {
  readonly names: readonly string[];
  readonly zones: readonly (string | null)[];
  readonly regions: readonly (string | null)[];
}

/** A problem for the thread: nodes in columns instead of thousands of small arrays, graphs as snapshots. */
interface PackedProblem {
  /** null: same as in the previous request. */
  readonly nodes: NodeColumns | null;
  /** Node-major: all resources of a node together. */
  readonly free: Float64Array<ArrayBuffer>;
  readonly allocatable: Float64Array<ArrayBuffer>;
  readonly pods: PlanProblem["pods"];
  readonly resources: readonly string[];
  readonly constraints: readonly DomainConstraint[];
  readonly workflow: WorkflowGraphSnapshot;
  readonly assumed: PlanProblem["assumed"];
  readonly use: PlanProblem["use"];
  readonly prices: PlanProblem["prices"];
  readonly replicaCpu: PlanProblem["replicaCpu"];
}

export interface PlanRequest {
  readonly id: number;
  readonly task: PlanTask | null;
}

export interface PlanTask {
  /** null: same as in the previous request. */
  readonly cluster: ClusterGraphSnapshot | null;
  readonly problem: PackedProblem;
  readonly options: PlanLimits;
  readonly turn: PlanTurn;
  /** A nonzero first element ends the search early. Shared with the thread. */
  readonly cut: Int32Array<SharedArrayBuffer>;
}

export type PlanLimits = Omit<SearchOptions, "isCut" | "now" | "start">;

export type PlanAnswer =
  | { readonly id: number }
  | { readonly id: number; readonly result: SearchResult }
  | { readonly id: number; readonly failure: string };

export function columnsOf(nodes: PlanProblem["nodes"], before: NodeColumns | null): NodeColumns {
  const isSame =
    before?.names.length === nodes.length &&
    nodes.every(
      ({ name, zone, region }, index) =>
        name === before.names[index] && zone === before.zones[index] && region === before.regions[index],
    );
  if (isSame) return before;
  return {
    names: nodes.map(({ name }) => name),
    zones: nodes.map(({ zone }) => zone),
    regions: nodes.map(({ region }) => region),
  };
}

export function packed(problem: PlanProblem, columns: NodeColumns | null): PackedProblem {
  const { nodes, pods, resources, constraints, workflow, assumed, use, replicaCpu, prices } = problem;
  const free = new Float64Array(nodes.length * resources.length);
  const allocatable = new Float64Array(free.length);
  let at = 0;
  for (const node of nodes) {
    for (let resource = 0; resource < resources.length; resource++, at++) {
      free[at] = node.free[resource]!;
      allocatable[at] = node.allocatable[resource]!;
    }
  }
  const { version, observedAt, namespace, name, workloads, channels } = workflow;
  return {
    nodes: columns,
    free,
    allocatable,
    pods,
    resources,
    constraints,
    workflow: {
      version,
      observedAt,
      namespace,
      name,
      workloads: [...workloads],
      channels: [...channels],
    },
    assumed,
    use,
    replicaCpu,
    prices,
  };
}

export function unpacked(
  problem: PackedProblem,
  { names, zones, regions }: NodeColumns,
  cluster: ClusterGraph,
): PlanProblem {
  const { free, allocatable, pods, resources, constraints, workflow, assumed, use, replicaCpu, prices } =
    problem;
  const width = resources.length;
  return {
    nodes: names.map((name, index) => ({
      name,
      zone: zones[index]!,
      region: regions[index]!,
      free: free.subarray(index * width, (index + 1) * width),
      allocatable: allocatable.subarray(index * width, (index + 1) * width),
    })),
    pods,
    resources,
    constraints,
    cluster,
    workflow: new WorkflowGraph(workflow),
    ...definedOf({ assumed, use, replicaCpu, prices }),
  };
}
