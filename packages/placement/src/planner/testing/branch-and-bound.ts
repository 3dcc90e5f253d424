// Shares only the objective with the planner.
import { WorkflowGraph } from "@isochrone/topology";
import { createObjective } from "../objective/objective.ts";
import type { Objective } from "../objective/objective.ts";
import type { DomainConstraint, PlanProblem } from "../objective/plan-problem.ts";
import type { PlanSettings } from "../objective/plan-settings.ts";
import { faultsOf } from "./verdict.ts";

interface Optimum {
  /** The cheapest complete plan. Null: there is none. */
  readonly assignment: Int32Array | null;
  readonly total: number;
  /** Visited nodes of the search tree. */
  readonly visited: number;
}

interface OptimumOptions {
  readonly limit?: number;
  readonly settings?: Partial<PlanSettings>;
  readonly latencyLimit?: number;
}

/** Finds the cheapest plan. Returns null at the limit. @param known a good initial plan */
export function optimum(
  problem: PlanProblem,
  known: Int32Array | null,
  { limit = Infinity, settings = {}, latencyLimit = Infinity }: OptimumOptions = {},
): Optimum | null {
  const tree = new Tree(problem, known, { limit, settings, latencyLimit });
  tree.explore(0, 0);
  if (tree.visited > limit) return null;
  return { assignment: tree.best, total: tree.total, visited: tree.visited };
}

/**
 * Bound (Gilmore and Lawler): cost of placed pods, plus each other pod's minimum with half of each pair's
 * minimum. Pressure only grows. Excludes nearest-routed channels, which another target can make cheaper;
 * complete plans use the full objective.
 */
class Tree {
  readonly #problem: PlanProblem;
  readonly #limit: number;
  readonly #full: Objective;
  readonly #latency: Objective;
  readonly #latencyLimit: number;
  readonly #assignment: Int32Array;
  readonly #left: Float64Array[];
  readonly #tables: Tables;
  readonly #order: readonly number[];
  best: Int32Array | null = null;
  total = Infinity;
  visited = 0;

  constructor(
    problem: PlanProblem,
    known: Int32Array | null,
    { limit, settings, latencyLimit }: Required<OptimumOptions>,
  ) {
    this.#problem = problem;
    this.#limit = limit;
    this.#full = createObjective(problem, settings);
    this.#latency = createObjective(problem, { ...settings, moneyShare: 0 });
    this.#latencyLimit = latencyLimit * (1 + 1e-9);
    this.#tables = new Tables(problem, this.#full, settings);
    this.#assignment = new Int32Array(problem.pods.length).fill(-1);
    this.#left = problem.nodes.map(({ free }) => free.slice());
    this.#order = this.#tables.heaviestFirst();
    if (known !== null && !known.includes(-1) && this.#isFine(known)) {
      this.best = known.slice();
      this.total = this.#full.total(known).total;
    }
  }

  /** @param base cost of the pods before `depth` */
  explore(depth: number, base: number): void {
    if (++this.visited > this.#limit) return;
    if (depth === this.#order.length) {
      this.#judge();
      return;
    }
    const pod = this.#order[depth]!;
    const options = this.#optionsOf(pod, this.#order.slice(depth + 1)).sort((a, b) => a.bound - b.bound);
    for (const { node, cost, bound } of options) {
      if (base + bound >= this.total) break;
      this.#put(pod, node, 1);
      if (base + cost + this.#boundOf(depth + 1) < this.total && this.#mayHold())
        this.explore(depth + 1, base + cost);
      this.#put(pod, node, -1);
    }
  }

  #judge(): void {
    const { total } = this.#full.total(this.#assignment);
    if (total >= this.total || !this.#isFine(this.#assignment)) return;
    this.total = total;
    this.best = this.#assignment.slice();
  }

  #isFine(assignment: Int32Array): boolean {
    return faultsOf(this.#problem, assignment).length === 0 && this.#isNear(assignment);
  }

  #isNear(assignment: Int32Array): boolean {
    if (this.#latencyLimit === Infinity) return true;
    return this.#latency.total(assignment).network <= this.#latencyLimit;
  }

  #boundOf(depth: number): number {
    let sum = 0;
    const rest = this.#order.slice(depth);
    for (const pod of rest) {
      let least = Infinity;
      for (const { bound } of this.#optionsOf(pod, rest)) least = Math.min(least, bound);
      sum += least;
    }
    return sum;
  }

  #optionsOf(pod: number, rest: readonly number[]): { node: number; cost: number; bound: number }[] {
    const { nodes, pods } = this.#problem;
    const found: { node: number; cost: number; bound: number }[] = [];
    for (let node = 0; node < nodes.length; node++) {
      if (pods[pod]!.demand.some((amount, at) => amount > 0 && amount > this.#left[node]![at]!)) continue;
      let cost = this.#tables.alone(pod, node);
      let here = 0;
      for (let other = 0; other < pods.length && cost < Infinity; other++) {
        const there = this.#assignment[other]!;
        if (there < 0 || other === pod) continue;
        cost += this.#tables.pair(pod, node, other, there);
        if (there === node) here |= 1 << other;
      }
      if (cost === Infinity) continue;
      cost += this.#tables.pressure(node, here | (1 << pod)) - this.#tables.pressure(node, here);
      let bound = cost;
      for (const other of rest) if (other !== pod) bound += this.#tables.leastPair(pod, node, other) / 2;
      found.push({ node, cost, bound });
    }
    return found;
  }

  #put(pod: number, node: number, sign: 1 | -1): void {
    this.#assignment[pod] = sign > 0 ? node : -1;
    for (const [at, amount] of this.#problem.pods[pod]!.demand.entries())
      this.#left[node]![at]! -= sign * amount;
  }

  #mayHold(): boolean {
    return this.#problem.constraints.every((rule) => mayHold(rule, this.#assignment));
  }
}

/** Whether unplaced pods can still satisfy the rule. */
function mayHold(rule: DomainConstraint, assignment: Int32Array): boolean {
  if (rule.kind !== "spread" && rule.kind !== "span") return true;
  const counts = [...rule.placed];
  let waiting = 0;
  for (const pod of rule.members) {
    if (assignment[pod]! < 0) waiting++;
    else if (rule.domainOf[assignment[pod]!]! >= 0) counts[rule.domainOf[assignment[pod]!]!]!++;
  }
  if (rule.kind === "span") return counts.filter((count) => count > 0).length + waiting >= rule.minDistinct;
  const fullest = rule.subjects
    .filter((pod) => assignment[pod]! >= 0)
    .reduce((most, pod) => Math.max(most, counts[rule.domainOf[assignment[pod]!]!] ?? 0), 0);
  if (rule.minDomains !== null && counts.length < rule.minDomains) return fullest <= rule.maxSkew;
  const missing = counts.reduce((sum, count) => sum + Math.max(0, fullest - rule.maxSkew - count), 0);
  return missing <= waiting;
}

class Tables {
  readonly #problem: PlanProblem;
  readonly #full: Objective;
  readonly #spread: Objective;
  readonly #alone: Float64Array;
  readonly #pairs: Float64Array;
  readonly #leastPairs: Float64Array;
  readonly #pressures = new Map<number, number>();

  constructor(problem: PlanProblem, full: Objective, settings: Partial<PlanSettings>) {
    this.#problem = problem;
    this.#full = full;
    const { workflow } = problem;
    const channels = workflow.channels.filter(({ routing }) => routing !== "nearest");
    const { version, observedAt, namespace, name, workloads } = workflow;
    const spread = { version, observedAt, namespace, name, workloads: [...workloads], channels };
    this.#spread = createObjective({ ...problem, workflow: new WorkflowGraph(spread) }, settings);
    const pods = problem.pods.length;
    const nodes = problem.nodes.length;
    this.#alone = new Float64Array(pods * nodes);
    this.#pairs = new Float64Array(pods * nodes * pods * nodes);
    this.#leastPairs = new Float64Array(pods * nodes * pods);
    this.#fillAlone();
    this.#fillPairs();
  }

  /** Network cost of the pod alone. Infinity: not allowed. */
  alone(pod: number, node: number): number {
    return this.#alone[pod * this.#problem.nodes.length + node]!;
  }

  pair(a: number, nodeA: number, b: number, nodeB: number): number {
    const { pods, nodes } = this.#problem;
    return this.#pairs[((a * nodes.length + nodeA) * pods.length + b) * nodes.length + nodeB]!;
  }

  leastPair(pod: number, node: number, other: number): number {
    const { pods, nodes } = this.#problem;
    return this.#leastPairs[(pod * nodes.length + node) * pods.length + other]!;
  }

  /** @param set pods as bits */
  pressure(node: number, set: number): number {
    const key = node * 2 ** this.#problem.pods.length + set;
    let pressure = this.#pressures.get(key);
    if (pressure === undefined) {
      const assignment = Int32Array.from(this.#problem.pods, (_, pod) => ((set >> pod) & 1 ? node : -1));
      pressure = this.#full.total(assignment).pressure;
      this.#pressures.set(key, pressure);
    }
    return pressure;
  }

  heaviestFirst(): number[] {
    const { pods, nodes } = this.#problem;
    const weights = pods.map((_, pod) => {
      let weight = 0;
      for (let node = 0; node < nodes.length; node++) {
        if (this.alone(pod, node) < Infinity) weight += this.alone(pod, node);
        for (let other = 0; other < pods.length; other++) {
          const far = this.pair(pod, node, other, (node + 1) % nodes.length);
          if (other !== pod && far < Infinity) weight += far;
        }
      }
      return weight;
    });
    return [...pods.keys()].sort((a, b) => weights[b]! - weights[a]! || a - b);
  }

  #fillAlone(): void {
    const { pods, nodes, constraints } = this.#problem;
    const empty = new Int32Array(pods.length).fill(-1);
    const lasting = constraints.filter(({ kind }) => kind === "apart");
    for (let pod = 0; pod < pods.length; pod++) {
      for (let node = 0; node < nodes.length; node++) {
        const assignment = empty.with(pod, node);
        const fine = faultsOf({ ...this.#problem, constraints: lasting }, assignment).length === 0;
        this.#alone[pod * nodes.length + node] = fine ? this.#spread.total(assignment).network : Infinity;
      }
    }
  }

  #fillPairs(): void {
    const { pods, nodes, constraints } = this.#problem;
    const empty = new Int32Array(pods.length).fill(-1);
    const lasting = { ...this.#problem, constraints: constraints.filter(({ kind }) => kind === "apart") };
    this.#leastPairs.fill(Infinity);
    for (let a = 0; a < pods.length; a++) {
      for (let nodeA = 0; nodeA < nodes.length; nodeA++) {
        for (let b = 0; b < pods.length; b++) {
          if (a === b) continue;
          for (let nodeB = 0; nodeB < nodes.length; nodeB++) {
            const assignment = empty.with(a, nodeA).with(b, nodeB);
            const apart = this.alone(a, nodeA) + this.alone(b, nodeB);
            const fine = apart < Infinity && faultsOf(lasting, assignment).length === 0;
            const cost = fine ? Math.max(0, this.#spread.total(assignment).network - apart) : Infinity;
            this.#pairs[((a * nodes.length + nodeA) * pods.length + b) * nodes.length + nodeB] = cost;
            const least = (a * nodes.length + nodeA) * pods.length + b;
            this.#leastPairs[least] = Math.min(this.#leastPairs[least]!, cost);
          }
        }
      }
    }
  }
}
