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

interface Spot {
  readonly node: number;
  readonly cost: number;
}

export interface SpotSearch {
  readonly strict: boolean;
  /** Returns true to skip a new best node. */
  readonly blink?: () => boolean;
  readonly within?: Uint8Array | null;
}

/** An assignment with incrementally updated sums. */
export class PlanState {
  readonly problem: PlanProblem;
  readonly field: CostField;
  readonly traffic: Traffic;
  /** Node by pod, -1: none. */
  readonly assignment: Int32Array;
  readonly #capacity: Capacity;
  readonly #rules: readonly Rule[];
  readonly #rulesOf: readonly (readonly Rule[])[];
  readonly #pays: PayColumns;
  #scratch: Float64Array | null = null;
  #quiet: Float64Array | null = null;
  #weighed = 0;
  #unplaced: number;
  #cost = 0;

  /** @param capacity changes with the assignment; the model's own serves if it doesn't change */
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

  /** Total cost. Incremental, so rounding errors accumulate. */
  get cost(): number {
    return this.#cost;
  }

  get weighed(): number {
    return this.#weighed;
  }

  holds(): boolean {
    return this.#rules.every((rule) => rule.holds());
  }

  rulesOf(pod: number): readonly Rule[] {
    return this.#rulesOf[pod]!;
  }

  shortage(pod: number, node: number): number {
    return this.#capacity.shortage(pod, node);
  }

  isOpen(pod: number, node: number): boolean {
    return this.problem.pods[pod]!.allowed?.[node] !== 0 && this.#capacity.fits(pod, node);
  }

  /** Traffic cost of the pod by node. Valid until the next call. */
  networkColumn(pod: number): Float64Array {
    return this.#networkOf(pod, -1);
  }

  /** The pod must be unplaced. */
  admits(pod: number, node: number, strict: boolean): boolean {
    if (!this.isOpen(pod, node)) return false;
    for (const rule of this.#rulesOf[pod]!) if (!rule.admits(pod, node, strict)) return false;
    return true;
  }

  /** The pod must be unplaced. */
  place(pod: number, node: number): void {
    this.#cost += this.costAt(pod, node, -1);
    this.drop(pod, node);
    this.#tellPeers(pod, node, 1);
  }

  unplace(pod: number): number {
    const node = this.lift(pod);
    this.#tellPeers(pod, node, -1);
    this.#cost -= this.costAt(pod, node, -1);
    return node;
  }

  clear(): void {
    for (const pod of this.assignment.keys()) if (this.assignment[pod]! >= 0) this.lift(pod);
    this.#pays.clear();
    this.#cost = 0;
  }

  /** Restores pods to `nodes` (-1: none). */
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

  /** As `unplace` for evaluation: peers still count the pod at its node, which is returned. */
  lift(pod: number): number {
    const node = this.assignment[pod]!;
    this.assignment[pod] = -1;
    this.#unplaced++;
    this.#capacity.remove(pod, node);
    for (const rule of this.#rulesOf[pod]!) rule.remove(pod, node);
    return node;
  }

  drop(pod: number, node: number): void {
    this.assignment[pod] = node;
    this.#unplaced--;
    this.#capacity.add(pod, node);
    for (const rule of this.#rulesOf[pod]!) rule.add(pod, node);
  }

  /** Load cost of the pod on a node that it isn't on. */
  pressureAt(pod: number, node: number): number {
    return this.#capacity.pressureOf(pod, node);
  }

  requestsAt(pod: number, node: number): number {
    return this.#capacity.requestsOf(pod, node);
  }

  overloadAt(pod: number, node: number): number {
    return this.#capacity.overload.costOf(pod, node);
  }

  /** Cost that the unplaced pod adds on the node. @param lifted node where peers still count it; -1: none */
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

  /** First node with the least cost for the unplaced pod. Null: none admits it. */
  bestSpot(pod: number, lifted: number, search: SpotSearch): Spot | null {
    const network = this.#networkOf(pod, lifted);
    const allowed = this.problem.pods[pod]!.allowed;
    const within = search.within ?? null;
    let node = -1;
    let least = Infinity;
    this.#weighed += network.length;
    for (let at = 0; at < network.length; at++) {
      // Load cost is non-negative, so one comparison rejects most nodes.
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

  /** Up to `count` cheapest nodes in order; ties go to the first. */
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

  /** Best and second best cost of an unplaced pod; Infinity: none. */
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

  #ownLink(group: number): { readonly calling: number; readonly called: number } | undefined {
    return this.traffic.groups[group]?.links.find((link) => link.group === group);
  }

  #tellPeers(pod: number, node: number, by: 1 | -1): void {
    const group = this.traffic.groupOf[pod]!;
    if (group >= 0) this.#pays.tell(group, node, by);
  }
}
