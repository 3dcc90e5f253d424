// The ResourceAware plugin of Algorithm 1 [1], line 1: what the node would have left, in percent of what the pod uses.
import { median } from "@isochrone/topology";
import type { ClusterGraph } from "@isochrone/topology";
import { addWeighted, bounded, fillWithMedian } from "./columns.ts";
import type { ColumnPool } from "./columns.ts";
import type { PartColumn, Remarks } from "./network-part.ts";
import type { PlacementProblem } from "./problem.ts";

/** The part, and the percentages that it is made of; null where a resource took no side. */
export interface ResourcePart {
  readonly part: PartColumn;
  readonly cpuPercent: Float64Array | null;
  readonly memoryPercent: Float64Array | null;
}

interface Resource {
  readonly name: string;
  readonly amount: "cpuMillicores" | "memoryBytes";
  readonly used: number | null;
  readonly requested: number | null;
}

/** Percent: alpha x (available - used) / used x 100 of CPU, plus the same with beta of memory. More is better. */
export function resourcePart(
  problem: PlacementProblem,
  ids: Int32Array,
  weights: { readonly alpha: number; readonly beta: number },
  pool: ColumnPool,
): ResourcePart {
  const { cluster, pod, workflow } = problem;
  const workload = pod.workload === null ? undefined : workflow.graph?.workload(pod.workload);
  const [cpu, memory] = (["cpuMillicores", "memoryBytes"] as const).map((amount) =>
    percentColumn(problem, ids, pool, {
      name: amount === "cpuMillicores" ? "CPU" : "memory",
      amount,
      used: workload?.[amount] ?? null,
      requested: pod.requests?.[amount] ?? null,
    }),
  ) as [PartColumn, PartColumn];
  return {
    part:
      cluster.graph === null
        ? { column: null, reason: cluster.reason }
        : weightedSum(cpu, weights.alpha, memory, weights.beta, pool),
    cpuPercent: cpu.column,
    memoryPercent: memory.column,
  };
}

function weightedSum(
  cpu: PartColumn,
  alpha: number,
  memory: PartColumn,
  beta: number,
  pool: ColumnPool,
): PartColumn {
  if (cpu.column === null && memory.column === null) {
    return {
      column: null,
      reason: cpu.reason === memory.reason ? cpu.reason : `${cpu.reason}; ${memory.reason}`,
    };
  }
  const column = pool.take();
  addWeighted(column, cpu.column, alpha);
  addWeighted(column, memory.column, beta);
  return { column, remarks: joined(saying(cpu), saying(memory)) };
}

/** What is to be said of a resource, without its column. */
function saying(part: PartColumn): Remarks {
  return part.column === null ? constant(part.reason) : part.remarks;
}

function constant(words: string): Remarks {
  return () => [words];
}

function joined(first: Remarks, second: Remarks): Remarks {
  return () => [...first(), ...second()];
}

/** A pod that uses nothing (or isn't measured) has no percentage: its request stands in, or the resource is neutral. */
function percentColumn(
  problem: PlacementProblem,
  ids: Int32Array,
  pool: ColumnPool,
  resource: Resource,
): PartColumn {
  const graph = problem.cluster.graph;
  if (graph === null) return { column: null, reason: problem.cluster.reason };
  const use = useOf(resource);
  if (use === null) {
    const why = resource.used === 0 ? "its use is 0" : "its use is not known";
    return { column: null, reason: `${resource.name} is neutral: ${why} and it requests none` };
  }
  const available = lessAssumed(problem, graph, resource.amount, pool);
  const column = pool.take();
  for (let row = 0; row < ids.length; row++) {
    const id = ids[row]!;
    column[row] = id < 0 ? Number.NaN : percent(available[id]!, use.amount);
  }
  const filled = fillWithMedian(column, median);
  if (filled === null)
    return {
      column: null,
      reason: `${resource.name} is neutral: no node's available ${resource.name} is known`,
    };
  return { column, remarks: remarksOf(resource.name, use.requested, filled) };
}

function remarksOf(resource: string, requested: boolean, filled: number): Remarks {
  return () => {
    const said = requested ? [`${resource}: its request stands in for its unknown use`] : [];
    if (filled > 0)
      said.push(
        `the available ${resource} of ${filled} nodes is not known and counted as the median of the others`,
      );
    return said;
  };
}

function useOf({ used, requested }: Resource): { amount: number; requested: boolean } | null {
  if (used !== null && used > 0 && used < Infinity) return { amount: used, requested: false };
  if (requested !== null && requested > 0 && requested < Infinity)
    return { amount: requested, requested: true };
  return null;
}

/** By node id, what is available when the decisions of a moment ago are carried out. */
function lessAssumed(
  problem: PlacementProblem,
  graph: ClusterGraph,
  amount: Resource["amount"],
  pool: ColumnPool,
): Float64Array {
  const available = graph.available(amount);
  if (problem.assumedUse === undefined || problem.assumedUse.size === 0) return available;
  const left = pool.copyOf(available);
  for (const [node, use] of problem.assumedUse) {
    const id = graph.idOf(node);
    if (id >= 0) left[id]! -= use[amount];
  }
  return left;
}

function percent(available: number, used: number): number {
  return Number.isNaN(available) ? available : bounded(((available - used) / used) * 100);
}
