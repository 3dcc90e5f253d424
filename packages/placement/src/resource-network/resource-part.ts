import { median } from "@isochrone/primitives";
import type { ClusterGraph } from "@isochrone/topology";
import { addWeighted, bounded, fillWithMedian } from "../scoring/columns.ts";
import type { ColumnPool } from "../scoring/columns.ts";
import { fairColumn, fairShares, roomColumn } from "./headroom.ts";
import type { HeadroomReference } from "./headroom.ts";
import type { PartColumn, Remarks } from "../scoring/network-part.ts";
import type { PlacementProblem } from "../scoring/problem.ts";
import { availableLater, measuredUse, useOf } from "./resource-use.ts";
import type { Amount } from "./resource-use.ts";

/** The part and its percentages. Null: the resource had no influence. */
export interface ResourcePart {
  readonly part: PartColumn;
  readonly cpuPercent: Float64Array | null;
  readonly memoryPercent: Float64Array | null;
}

interface ResourceWeights {
  readonly alpha: number;
  readonly beta: number;
}

/** Values by row; NaN: unknown. */
type Measure = (graph: ClusterGraph, amount: Amount, used: number) => Float64Array;

/**
 * Percent: alpha x (available - used) / used x 100 of CPU, plus beta times the same of memory (Marchese
 * 2023).
 */
export function resourcePart(
  problem: PlacementProblem,
  ids: Int32Array,
  { alpha, beta }: ResourceWeights,
  pool: ColumnPool,
): ResourcePart {
  const measure: Measure = (graph, amount, used) => {
    const available = availableLater(problem, graph, amount, pool);
    const column = pool.take();
    for (let row = 0; row < ids.length; row++) {
      const id = ids[row]!;
      column[row] = id < 0 ? Number.NaN : percent(available[id]!, used);
    }
    return column;
  };
  return partOf(problem, measure, (cpu, memory) => {
    const sum = pool.take();
    addWeighted(sum, cpu, alpha);
    addWeighted(sum, memory, beta);
    return sum;
  });
}

/**
 * Percent: the smaller headroom of CPU and memory. A lower weight scales down the pods' use of that resource.
 */
export function headroomPart(
  problem: PlacementProblem,
  ids: Int32Array,
  { alpha, beta }: ResourceWeights,
  pool: ColumnPool,
  reference: HeadroomReference,
): ResourcePart {
  const { graph } = problem.cluster;
  const shares = graph === null || reference === "pod" ? null : fairShares(problem, graph);
  const largest = Math.max(alpha, beta);
  const measure: Measure = (cluster, amount, used) => {
    const weight = (amount === "cpuMillicores" ? alpha : beta) / largest;
    const measured = { amount, used, weight };
    return shares === null
      ? roomColumn(problem, cluster, ids, pool, measured)
      : fairColumn(problem, cluster, ids, pool, measured, shares);
  };
  return partOf(problem, measure, (cpu, memory) => smaller(pool.take(), cpu, memory));
}

function smaller(column: Float64Array, cpu: Float64Array | null, memory: Float64Array | null): Float64Array {
  const one = cpu ?? memory!;
  const other = memory ?? one;
  for (let row = 0; row < column.length; row++)
    column[row] = one[row]! < other[row]! ? one[row]! : other[row]!;
  return column;
}

function partOf(
  problem: PlacementProblem,
  measure: Measure,
  combine: (cpu: Float64Array | null, memory: Float64Array | null) => Float64Array,
): ResourcePart {
  const cpu = resourceColumn(problem, "CPU", "cpuMillicores", measure);
  const memory = resourceColumn(problem, "memory", "memoryBytes", measure);
  return {
    part: combined(problem, cpu, memory, combine),
    cpuPercent: cpu.column,
    memoryPercent: memory.column,
  };
}

function combined(
  { cluster }: PlacementProblem,
  cpu: PartColumn,
  memory: PartColumn,
  combine: (cpu: Float64Array | null, memory: Float64Array | null) => Float64Array,
): PartColumn {
  if (cluster.graph === null) return { column: null, reason: cluster.reason };
  if (cpu.column === null && memory.column === null) {
    return {
      column: null,
      reason: cpu.reason === memory.reason ? cpu.reason : `${cpu.reason}; ${memory.reason}`,
    };
  }
  return { column: combine(cpu.column, memory.column), remarks: joined(saying(cpu), saying(memory)) };
}

function saying(part: PartColumn): Remarks {
  return part.column === null ? constant(part.reason) : part.remarks;
}

function constant(words: string): Remarks {
  return () => [words];
}

function joined(first: Remarks, second: Remarks): Remarks {
  return () => [...first(), ...second()];
}

function resourceColumn(
  problem: PlacementProblem,
  name: string,
  amount: Amount,
  measure: Measure,
): PartColumn {
  const graph = problem.cluster.graph;
  if (graph === null) return { column: null, reason: problem.cluster.reason };
  const use = useOf(problem, amount);
  if (use === null) {
    const why = measuredUse(problem, amount) === 0 ? "its use is 0" : "its use is not known";
    return { column: null, reason: `${name} is neutral: ${why} and it requests none` };
  }
  const column = measure(graph, amount, use.amount);
  const filled = fillWithMedian(column, median);
  if (filled === null)
    return { column: null, reason: `${name} is neutral: no node's available ${name} is known` };
  return { column, remarks: remarksOf(name, use.requested, filled) };
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

function percent(available: number, used: number): number {
  return Number.isNaN(available) ? available : bounded(((available - used) / used) * 100);
}
