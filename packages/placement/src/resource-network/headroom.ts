// What the resource part of `normalized` goes by: CPU and memory each on a scale of its own, and of the two
// the scarcer one. Algorithm 1's percentages can't be compared between them: a pod that uses much memory and
// little CPU would be placed by its CPU.
import type { ClusterGraph } from "@isochrone/topology";
import { bounded } from "../scoring/columns.ts";
import type { ColumnPool } from "../scoring/columns.ts";
import type { AmountsByNode, PlacementProblem } from "../scoring/problem.ts";
import { assumedLoad, availableLater, availableNow, useOf } from "./resource-use.ts";
import type { Amount } from "./resource-use.ts";

/**
 * How a node's room is measured: against what this pod takes, or against a fair share of all that is on its
 * way.
 */
export type HeadroomReference = "pod" | "burst";

/**
 * By resource, what the pods on their way and this one take of what nodes have free, on average; 1 is all of
 * it.
 */
type FairShares = Readonly<Record<Amount, number>>;

/**
 * A resource of which the burst takes less than this share of what it takes of the other one counts that much
 * less: evening out a thousandth of the memory must not make CPU uneven.
 */
const LEAST_SHARE = 0.1;

/**
 * Percent, by row, NaN where it isn't known what the node has: free / (free + the pod's use), after the
 * decisions of a moment ago. What is measured varies by some percent; here that is some percent of the pod's
 * share of the node.
 */
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
 * Percent, by row, NaN where it isn't known what the node has: fair / (fair + sent), where `sent` is what
 * goes there with this pod and `fair` the node's part of what goes to all, in proportion to what nodes have
 * free. 50 is its fair share.
 */
export function fairColumn(
  problem: PlacementProblem,
  graph: ClusterGraph,
  ids: Int32Array,
  pool: ColumnPool,
  { amount, used, weight }: Measured,
  shares: FairShares,
): Float64Array {
  // The pool has one copy at a time, and the load is the next one.
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

/** What is measured, and by how much: the pod's use, and 0 to 1. */
interface Measured {
  readonly amount: Amount;
  readonly used: number;
  readonly weight: number;
}

/**
 * What is on its way with this pod, and as much again of both for what such a pod takes of a node, so that
 * nodes that get one differ little while few pods are on their way. Resources are compared by what is on its
 * way alone: by what the pod takes of each, it would weigh those down that it needs most.
 */
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

/** On nodes that the graph holds. */
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

/** Shares of what nodes have free; 0 when the resource takes no side. */
interface Sent {
  /** What is on its way and this pod, of all that all nodes have. */
  readonly mean: number;
  /** This pod, of what a node has on average. */
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
  /** With a known amount. */
  readonly nodes: number;
}

/** By a graph's own column, which stays the same for as long as the graph. */
const totals = new WeakMap<Float64Array, Total>();

/** By id, so that the order of the candidates doesn't change the last digits. */
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

/**
 * Percent that stays of what is free when so much is added to the node's load; a node that has nothing free
 * keeps nothing.
 */
function share(free: number, added: number): number {
  if (Number.isNaN(free)) return free;
  if (added === 0) return 100;
  return free > 0 ? bounded(100 / (1 + added / free)) : 0;
}
