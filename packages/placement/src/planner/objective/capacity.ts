import type { Overload } from "./overload.ts";
import type { ClusterGraph } from "@isochrone/topology";
import type { PlanNode, PlanProblem } from "./plan-problem.ts";

/** Resources with a price that rises with load. The others (pods, devices, ports) only fit or don't. */
const PRESSED = ["cpu", "memory"];

/**
 * Pressure is the sum over nodes and resources of capacity x (U(after) - U(before)), U(u) = u^3 / 3, over
 * planned demand: each unit pays the squared utilization where it is added. Convex, so load evens out.
 * Measured use counts separately: see {@link Overload}.
 */
export class Capacity {
  readonly #problem: PlanProblem;
  readonly scale: number;
  readonly overload: Overload;
  readonly #moveCost: number;
  readonly #resources: number;
  readonly #left: Float64Array;
  readonly #allocatable: Float64Array;
  readonly #demand: Float64Array;
  readonly #pressed: readonly number[];
  /** 1 / (3 x capacity^2) by node and resource. */
  readonly #steepness: Float64Array;
  /** scale / (all demand x resources) by resource. */
  readonly #price: Float64Array;

  constructor(
    problem: PlanProblem,
    { scale, moveCost }: { readonly scale: number; readonly moveCost: number },
    overload: Overload,
    other?: Capacity,
  ) {
    const { pods, resources } = problem;
    const width = resources.length;
    this.#problem = problem;
    this.scale = scale;
    this.overload = overload;
    this.#moveCost = moveCost;
    this.#resources = width;
    if (other !== undefined) {
      this.#left = other.#left.slice();
      this.#allocatable = other.#allocatable;
      this.#steepness = other.#steepness;
      this.#price = other.#price;
      this.#demand = other.#demand;
      this.#pressed = other.#pressed;
      return;
    }
    const amounts = amountsOf(problem);
    this.#left = amounts.free.slice();
    this.#allocatable = amounts.allocatable;
    this.#steepness = amounts.steepness;
    this.#price = new Float64Array(width);
    this.#demand = new Float64Array(pods.length * width);
    const sums = new Float64Array(width);
    for (const [index, { demand, current }] of pods.entries()) {
      this.#demand.set(demand, index * width);
      for (let resource = 0; resource < width; resource++) {
        sums[resource]! += demand[resource]!;
        if (current >= 0) this.#left[current * width + resource]! += demand[resource]!;
      }
    }
    this.#pressed = PRESSED.map((name) => resources.indexOf(name)).filter((at) => at >= 0 && sums[at]! > 0);
    for (const resource of this.#pressed)
      this.#price[resource] = scale / (sums[resource]! * this.#pressed.length);
  }

  copy(): Capacity {
    const prices = { scale: this.scale, moveCost: this.#moveCost };
    return new Capacity(this.#problem, prices, this.overload.copy(), this);
  }

  fits(pod: number, node: number): boolean {
    const width = this.#resources;
    const from = pod * width;
    const at = node * width;
    for (let resource = 0; resource < width; resource++) {
      const demand = this.#demand[from + resource]!;
      if (demand > 0 && demand > this.#left[at + resource]!) return false;
    }
    return true;
  }

  shortage(pod: number, node: number): number {
    for (let resource = 0; resource < this.#resources; resource++) {
      const demand = this.#demand[pod * this.#resources + resource]!;
      if (demand > 0 && demand > this.#left[node * this.#resources + resource]!) return resource;
    }
    return -1;
  }

  pressureOf(pod: number, node: number): number {
    return this.requestsOf(pod, node) + this.overload.costOf(pod, node) + this.moveOf(pod, node);
  }

  /** Cost of a move. A pod without a node moves for free. */
  moveOf(pod: number, node: number): number {
    const home = this.homeOf(pod);
    return home < 0 || home === node ? 0 : this.#moveCost;
  }

  /** The node that costs something to leave; -1: none. */
  homeOf(pod: number): number {
    return this.#moveCost > 0 ? this.#problem.pods[pod]!.current : -1;
  }

  requestsOf(pod: number, node: number): number {
    const from = pod * this.#resources;
    const at = node * this.#resources;
    let sum = 0;
    for (const resource of this.#pressed) {
      const demand = this.#demand[from + resource]!;
      const load = Math.max(0, this.#allocatable[at + resource]! - this.#left[at + resource]!);
      const price = this.#price[resource]! * this.#steepness[at + resource]!;
      sum += price * demand * (3 * load * (load + demand) + demand * demand);
    }
    return sum;
  }

  get pressed(): readonly number[] {
    return this.#pressed;
  }

  left(node: number, resource: number): number {
    return this.#left[node * this.#resources + resource]!;
  }

  /** A load L costs `price` x L^3; `load` is the current one. */
  curve(node: number, resource: number): { readonly price: number; readonly load: number } {
    const at = node * this.#resources + resource;
    return {
      price: this.#price[resource]! * this.#steepness[at]!,
      load: Math.max(0, this.#allocatable[at]! - this.#left[at]!),
    };
  }

  add(pod: number, node: number): void {
    this.overload.add(pod, node);
    for (let resource = 0; resource < this.#resources; resource++)
      this.#left[node * this.#resources + resource]! -= this.#demand[pod * this.#resources + resource]!;
  }

  remove(pod: number, node: number): void {
    this.overload.remove(pod, node);
    for (let resource = 0; resource < this.#resources; resource++)
      this.#left[node * this.#resources + resource]! += this.#demand[pod * this.#resources + resource]!;
  }
}

interface Amounts {
  readonly nodes: PlanNode[];
  readonly kind: string;
  readonly free: Float64Array;
  readonly allocatable: Float64Array;
  readonly steepness: Float64Array;
}

/** Cached per graph: few of thousands of nodes change between problems. */
const KEPT = new WeakMap<ClusterGraph, Amounts>();

function amountsOf({ cluster, nodes, resources }: PlanProblem): Amounts {
  const kind = resources.join();
  const kept = KEPT.get(cluster);
  if (kept !== undefined && kept.kind === kind && areSame(kept.nodes, nodes)) {
    for (let node = 0; node < nodes.length; node++)
      if (kept.nodes[node] !== nodes[node]) take(kept, node, nodes[node]!);
    return kept;
  }
  const size = nodes.length * resources.length;
  const amounts: Amounts = {
    nodes: [],
    kind,
    free: new Float64Array(size),
    allocatable: new Float64Array(size),
    steepness: new Float64Array(size),
  };
  for (const [index, node] of nodes.entries()) take(amounts, index, node);
  // Keep the largest set of nodes: smaller ones are used once.
  if (kept === undefined || nodes.length >= kept.nodes.length) KEPT.set(cluster, amounts);
  return amounts;
}

function areSame(before: readonly PlanNode[], now: readonly PlanNode[]): boolean {
  if (before.length !== now.length) return false;
  for (let node = 0; node < now.length; node++)
    if (before[node]!.allocatable !== now[node]!.allocatable) return false;
  return true;
}

function take({ nodes, free, allocatable, steepness }: Amounts, index: number, node: PlanNode): void {
  nodes[index] = node;
  let at = index * node.free.length;
  for (let resource = 0; resource < node.free.length; resource++, at++) {
    const capacity = node.allocatable[resource]!;
    free[at] = node.free[resource]!;
    allocatable[at] = capacity;
    steepness[at] = capacity > 0 ? 1 / (3 * capacity * capacity) : 0;
  }
}
