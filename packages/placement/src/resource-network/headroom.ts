// Scores the scarcer of CPU and memory. The paper's percentages would place a memory-heavy pod by its CPU.
import type { ClusterGraph } from "@isochrone/topology";
import { bounded } from "../scoring/columns.ts";
import type { ColumnPool } from "../scoring/columns.ts";
import type { AmountsByNode, PlacementProblem } from "../scoring/problem.ts";
import { assumedLoad, availableLater, availableNow, useOf } from "./resource-use.ts";
import type { Amount } from "./resource-use.ts";

export type HeadroomReference = "pod" | "burst";

/** Use of the assumed pods and this one, as a mean fraction of what nodes have free. */
type FairShares = Readonly<Record<Amount, number>>;

/**
 * Below this ratio to the other resource's share, a resource loses weight: a thousandth of the memory must
 * not unbalance CPU.
 */
const LEAST_SHARE = 0.1;

/** Percent per row: free / (free + the pod's use), after recent decisions. NaN: unknown. */
export function roomColumn(
  problem: PlacementProblem,
  graph: ClusterGraph,
  ids: Int32Array,
  pool: ColumnPool,
  { amount, used, weight }: Measured,
): Float64Array {
  const available = availableLater(problem, graph, amount, pool);
  const column = pool.take();
  const taken = weight * used;
  for (let row = 0; row < ids.length; row++) {
    const id = ids[row]!;
    column[row] = id < 0 ? Number.NaN : share(available[id]!, taken);
  }
  return column;
}

/**
 * Percent per row: fair / (fair + sent). `sent` is the use assigned to the node, `fair` its part of all use
 * in proportion to free amounts. 50: exactly fair. NaN: unknown.
 */
export function fairColumn(
  problem: PlacementProblem,
  graph: ClusterGraph,
  ids: Int32Array,
  pool: ColumnPool,
  { amount, used, weight }: Measured,
  shares: FairShares,
): Float64Array {
  // The pool lends one copy at a time; the load needs the next.
  const available =
    problem.released === undefined
      ? graph.available(amount)
      : availableNow(problem, graph, amount, pool).slice();
  const load = assumedLoad(problem, graph, amount, pool);
  const column = pool.take();
  const perSent = weight / shares[amount];
  for (let row = 0; row < ids.length; row++) {
    const id = ids[row]!;
    const sent = load === null || id < 0 ? used : load[id]! + used;
    column[row] = id < 0 ? Number.NaN : share(available[id]!, sent * perSent);
  }
  return column;
}

interface Measured {
  readonly amount: Amount;
  readonly used: number;
  readonly weight: number;
}

/** Includes one such pod per node, so that nodes differ little in a small burst. */
export function fairShares(problem: PlacementProblem, graph: ClusterGraph): FairShares {
  const assumed = totalAssumed(problem, graph);
  const cpu = sentOf(problem, graph, "cpuMillicores", assumed);
  const memory = sentOf(problem, graph, "memoryBytes", assumed);
  const least = LEAST_SHARE * Math.max(cpu.mean, memory.mean);
  const [cpuMean, memoryMean] = [Math.max(cpu.mean, least), Math.max(memory.mean, least)];
  const scale = 1 + Math.max(cpu.perPod / cpuMean || 0, memory.perPod / memoryMean || 0);
  const shareOf = (mean: number): number => (mean > 0 ? bounded(mean * scale) : 1);
  return { cpuMillicores: shareOf(cpuMean), memoryBytes: shareOf(memoryMean) };
}

function totalAssumed({ assumedUse = NONE }: PlacementProblem, graph: ClusterGraph): Record<Amount, number> {
  const total = { cpuMillicores: 0, memoryBytes: 0 };
  for (const [node, { cpuMillicores, memoryBytes }] of assumedUse) {
    if (graph.idOf(node) < 0) continue;
    total.cpuMillicores += cpuMillicores;
    total.memoryBytes += memoryBytes;
  }
  return total;
}

const NONE: AmountsByNode = new Map();

/** Fractions of the free amounts; 0 if the resource has no influence. */
interface Sent {
  /** Assumed use plus this pod, as a fraction of all nodes' total. */
  readonly mean: number;
  /** This pod's use as a fraction of a mean node. */
  readonly perPod: number;
}

function sentOf(
  problem: PlacementProblem,
  graph: ClusterGraph,
  amount: Amount,
  assumed: Readonly<Record<Amount, number>>,
): Sent {
  const use = useOf(problem, amount);
  const { sum, nodes } = totalOf(graph.available(amount));
  if (use === null || sum === 0) return { mean: 0, perPod: 0 };
  return {
    mean: bounded((assumed[amount] + use.amount) / sum),
    perPod: bounded((use.amount * nodes) / sum),
  };
}

interface Total {
  readonly sum: number;
  readonly nodes: number;
}

const totals = new WeakMap<Float64Array, Total>();

/** Sum of the known amounts. Added by id, so candidate order doesn't change rounding. */
function totalOf(available: Float64Array): Total {
  const known = totals.get(available);
  if (known !== undefined) return known;
  let [sum, nodes] = [0, 0];
  for (const amount of available) {
    if (Number.isNaN(amount)) continue;
    sum += Math.max(0, amount);
    nodes++;
  }
  const total = { sum, nodes };
  totals.set(available, total);
  return total;
}

/** Percent of the free amount left after `added`; 0 for a full node. */
function share(free: number, added: number): number {
  if (Number.isNaN(free)) return free;
  if (added === 0) return 100;
  return free > 0 ? bounded(100 / (1 + added / free)) : 0;
}
