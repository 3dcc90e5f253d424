import type { Capacity } from "../objective/capacity.ts";
import type { CostField } from "../objective/cost-field.ts";
import type { CostModel } from "../objective/objective.ts";
import { addScaled, PayColumns } from "../objective/pay-columns.ts";
import type { PlanProblem } from "../objective/plan-problem.ts";
import { latencyRules } from "../rules/latency-rule.ts";
import { limitRules } from "../rules/limit-rule.ts";
import type { PodsRule } from "../rules/limit-rule.ts";
import type { Rule } from "../rules/rule.ts";
import { ruleOf } from "../rules/rules.ts";
import type { Traffic } from "../objective/traffic.ts";

/** A node for a pod, and what the pod adds to the total cost there. */
interface Spot {
  readonly node: number;
  readonly cost: number;
}

/** Limits a search for the best node. */
export interface SpotSearch {
  /** The whole of every rule must hold afterwards, not only the pod's own part. */
  readonly strict: boolean;
  /** Returns true to pass over a node that would be the best one so far. */
  readonly blink?: () => boolean;
  /** By node: 1 where to look. */
  readonly within?: Uint8Array | null;
}

/**
 * An assignment under change, with all that makes changes cheap: what is left on nodes, counts per rule, and
 * per workload what a replica of it pays to its placed peers from every node.
 */
export class PlanState {
  readonly problem: PlanProblem;
  readonly field: CostField;
  readonly traffic: Traffic;
  /** Node by pod, -1 = none. */
  readonly assignment: Int32Array;
  readonly #capacity: Capacity;
  readonly #rules: readonly Rule[];
  readonly #rulesOf: readonly (readonly Rule[])[];
  readonly #pays: PayColumns;
  /** Made when they are needed first. */
  #scratch: Float64Array | null = null;
  #quiet: Float64Array | null = null;
  /** How many nodes were weighed up, as a measure of work done. */
  #weighed = 0;
  #unplaced: number;
  #cost = 0;

  /**
   * @param capacity it is changed with the assignment; for one that stays as it is the model's own will do
   */
  constructor(model: CostModel, capacity: Capacity = model.capacity.copy()) {
    const { problem, field, traffic } = model;
    this.problem = problem;
    this.field = field;
    this.traffic = traffic;
    this.#capacity = capacity;
    const count = problem.pods.length;
    this.assignment = new Int32Array(count).fill(-1);
    this.#unplaced = count;
    const ruled: PodsRule[] = problem.constraints.map((constraint) => ({
      rule: ruleOf(constraint, count),
      pods: new Set([...constraint.subjects, ...constraint.members]),
    }));
    ruled.push(...limitRules(problem, field), ...latencyRules(model));
    this.#rules = ruled.map(({ rule }) => rule);
    this.#rulesOf = problem.pods.map((_, pod) =>
      ruled.filter(({ pods }) => pods.has(pod)).map(({ rule }) => rule),
    );
    this.#pays = new PayColumns(field, traffic.groups);
  }

  get unplaced(): number {
    return this.#unplaced;
  }

  /** Of all placed pods, as kept up by each change; rounding adds up over many of them. */
  get cost(): number {
    return this.#cost;
  }

  get weighed(): number {
    return this.#weighed;
  }

  /** Whether every rule holds for the pods that have a node. */
  holds(): boolean {
    return this.#rules.every((rule) => rule.holds());
  }

  rulesOf(pod: number): readonly Rule[] {
    return this.#rulesOf[pod]!;
  }

  shortage(pod: number, node: number): number {
    return this.#capacity.shortage(pod, node);
  }

  /** Whether the node would take the pod, rules aside. */
  isOpen(pod: number, node: number): boolean {
    return this.problem.pods[pod]!.allowed?.[node] !== 0 && this.#capacity.fits(pod, node);
  }

  /** By node: what the pod, wherever it is, pays to its peers and they to it. Good until the next call. */
  networkColumn(pod: number): Float64Array {
    return this.#networkOf(pod, -1);
  }

  /** Whether the pod, which has no node, may go there. */
  admits(pod: number, node: number, strict: boolean): boolean {
    if (!this.isOpen(pod, node)) return false;
    for (const rule of this.#rulesOf[pod]!) if (!rule.admits(pod, node, strict)) return false;
    return true;
  }

  /** Gives a pod that has none a node. */
  place(pod: number, node: number): void {
    this.#cost += this.costAt(pod, node, -1);
    this.drop(pod, node);
    this.#tellPeers(pod, node, 1);
  }

  /** Takes its node from a pod that has one, and returns it. */
  unplace(pod: number): number {
    const node = this.lift(pod);
    this.#tellPeers(pod, node, -1);
    this.#cost -= this.costAt(pod, node, -1);
    return node;
  }

  /** Takes all pods out, and with them the rounding errors of what was done before. */
  clear(): void {
    for (const pod of this.assignment.keys()) if (this.assignment[pod]! >= 0) this.lift(pod);
    this.#pays.clear();
    this.#cost = 0;
  }

  /**
   * Takes back what was done to these pods: gives each the node it had (-1 = none), and the state the cost it
   * had.
   */
  revert(pods: readonly number[], nodes: readonly number[], cost: number): void {
    for (const pod of pods) if (this.assignment[pod]! >= 0) this.#tellPeers(pod, this.lift(pod), -1);
    for (const [at, pod] of pods.entries()) {
      if (nodes[at]! < 0) continue;
      this.drop(pod, nodes[at]!);
      this.#tellPeers(pod, nodes[at]!, 1);
    }
    this.#cost = cost;
  }

  move(pod: number, node: number): void {
    this.unplace(pod);
    this.place(pod, node);
  }

  /**
   * As `unplace`, but peers go on paying as if the pod were still there: for a look around. Returns its node.
   */
  lift(pod: number): number {
    const node = this.assignment[pod]!;
    this.assignment[pod] = -1;
    this.#unplaced++;
    this.#capacity.remove(pod, node);
    for (const rule of this.#rulesOf[pod]!) rule.remove(pod, node);
    return node;
  }

  /** Puts a lifted pod back where it was. */
  drop(pod: number, node: number): void {
    this.assignment[pod] = node;
    this.#unplaced--;
    this.#capacity.add(pod, node);
    for (const rule of this.#rulesOf[pod]!) rule.add(pod, node);
  }

  /** What the pod adds to the load of a node that it isn't on. */
  pressureAt(pod: number, node: number): number {
    return this.#capacity.pressureOf(pod, node);
  }

  /** Of that, what requests make. */
  requestsAt(pod: number, node: number): number {
    return this.#capacity.requestsOf(pod, node);
  }

  /** And what real use makes, where it is too much. */
  overloadAt(pod: number, node: number): number {
    return this.#capacity.overload.costOf(pod, node);
  }

  /**
   * What the pod, which has no node, would add to the total there; `lifted` is where its peers still see it,
   * or -1.
   */
  costAt(pod: number, node: number, lifted: number): number {
    return this.networkAt(pod, node, lifted) + this.#capacity.pressureOf(pod, node);
  }

  networkAt(pod: number, node: number, lifted: number): number {
    const group = this.traffic.groupOf[pod]!;
    let cost = group < 0 ? 0 : this.#pays.at(group, node);
    const own = lifted < 0 ? undefined : this.#ownLink(group);
    if (own !== undefined) cost -= own.calling * (this.field.ms(node, lifted) + this.field.ms(lifted, node));
    for (const channel of this.traffic.nearestOf[pod]!) cost += channel.added(this.assignment, pod, node);
    return cost;
  }

  /**
   * The node where the pod, which has none, adds least; null when none admits it. Of equal ones the first.
   */
  bestSpot(pod: number, lifted: number, search: SpotSearch): Spot | null {
    const network = this.#networkOf(pod, lifted);
    const allowed = this.problem.pods[pod]!.allowed;
    const within = search.within ?? null;
    let node = -1;
    let least = Infinity;
    this.#weighed += network.length;
    for (let at = 0; at < network.length; at++) {
      // The load never makes a node cheaper: most are dismissed by one comparison.
      if (network[at]! >= least || (allowed !== null && allowed[at] === 0)) continue;
      if (within !== null && within[at] === 0) continue;
      if (!this.#capacity.fits(pod, at)) continue;
      const cost = network[at]! + this.#capacity.pressureOf(pod, at);
      if (cost >= least || !this.#ruledIn(pod, at, search.strict)) continue;
      if (search.blink?.() === true) continue;
      least = cost;
      node = at;
    }
    return node < 0 ? null : { node, cost: least };
  }

  /**
   * So many nodes where the pod, which has none, adds least, in this order; fewer where fewer admit it. Of
   * equal ones the first of all.
   */
  bestSpots(pod: number, count: number): Spot[] {
    const network = this.#networkOf(pod, -1);
    const allowed = this.problem.pods[pod]!.allowed;
    const spots: Spot[] = [];
    let most = Infinity;
    this.#weighed += network.length;
    for (let node = 0; node < network.length; node++) {
      if (network[node]! >= most || (allowed !== null && allowed[node] === 0)) continue;
      if (!this.#capacity.fits(pod, node)) continue;
      const cost = network[node]! + this.#capacity.pressureOf(pod, node);
      if (cost >= most || !this.#ruledIn(pod, node, true)) continue;
      let place = spots.length;
      while (place > 0 && spots[place - 1]!.cost > cost) place--;
      spots.splice(place, 0, { node, cost });
      if (spots.length > count) spots.pop();
      if (spots.length === count) most = spots[count - 1]!.cost;
    }
    return spots;
  }

  /** The best and the second best cost of a pod without a node; Infinity where there is none. */
  twoBest(pod: number): { readonly spot: Spot | null; readonly second: number } {
    const network = this.#networkOf(pod, -1);
    let node = -1;
    let least = Infinity;
    let second = Infinity;
    this.#weighed += network.length;
    for (let at = 0; at < network.length; at++) {
      if (network[at]! >= second || !this.admits(pod, at, false)) continue;
      const cost = network[at]! + this.#capacity.pressureOf(pod, at);
      if (cost < least) {
        second = least;
        least = cost;
        node = at;
      } else if (cost < second) second = cost;
    }
    return { spot: node < 0 ? null : { node, cost: least }, second };
  }

  #ruledIn(pod: number, node: number, strict: boolean): boolean {
    for (const rule of this.#rulesOf[pod]!) if (!rule.admits(pod, node, strict)) return false;
    return true;
  }

  /** By node: what the pod pays to its peers and they to it. Good until the next call. */
  #networkOf(pod: number, lifted: number): Float64Array {
    const group = this.traffic.groupOf[pod]!;
    if (group < 0) return (this.#quiet ??= new Float64Array(this.field.nodeCount));
    const own = lifted < 0 ? undefined : this.#ownLink(group);
    const nearest = this.traffic.nearestOf[pod]!;
    if (own === undefined && nearest.length === 0) return this.#pays.column(group);
    const column = (this.#scratch ??= new Float64Array(this.field.nodeCount));
    column.set(this.#pays.column(group));
    if (own !== undefined) {
      addScaled(column, this.field.to(lifted), -own.calling);
      addScaled(column, this.field.from(lifted), -own.called);
    }
    for (const channel of nearest) channel.addTo(column, this.assignment, pod);
    return column;
  }

  /** How replicas of the group talk to each other. */
  #ownLink(group: number): { readonly calling: number; readonly called: number } | undefined {
    return this.traffic.groups[group]?.links.find((link) => link.group === group);
  }

  #tellPeers(pod: number, node: number, by: 1 | -1): void {
    const group = this.traffic.groupOf[pod]!;
    if (group >= 0) this.#pays.tell(group, node, by);
  }
}
