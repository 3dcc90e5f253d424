import type { Overload } from "./overload.ts";
import type { ClusterGraph } from "@isochrone/topology";
import type { PlanNode, PlanProblem } from "./plan-problem.ts";

/**
 * Resources that a node runs short of gradually; of all others (pods, devices, ports) it has one left or
 * none.
 */
const PRESSED = ["cpu", "memory"];

/**
 * What nodes have left, and what it costs to fill them. The pressure of a plan is the sum over nodes and
 * resources (CPU and memory) of capacity x (U(after) - U(before)), U(u) = u^3 / 3, over the planned demand:
 * each unit of demand pays the square of the utilisation of the node at which it is added, 0 when idle, 1
 * when full. Convex, so that load is evened out. `scale` turns that mean into the unit of a plan's cost. What
 * is really used counts beside it, where it is more than nodes can take: see {@link Overload}.
 */
export class Capacity {
  readonly #problem: PlanProblem;
  /** Cost of full pressure. */
  readonly scale: number;
  /** By use; in the same state. */
  readonly overload: Overload;
  /** What each pod costs that leaves the node where it runs. */
  readonly #moveCost: number;
  readonly #resources: number;
  /** By node and resource. */
  readonly #left: Float64Array;
  readonly #allocatable: Float64Array;
  /** By pod and resource. */
  readonly #demand: Float64Array;
  readonly #pressed: readonly number[];
  /** By node and resource: 1 / (3 x capacity^2). */
  readonly #steepness: Float64Array;
  /** By resource: scale / (all demand x resources). */
  readonly #price: Float64Array;

  /** @param other one of the same problem, scale and cost of moves, whose state it begins with */
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

  /** Another one in the same state. */
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

  /** The first resource that is short, by index; -1 when the pod fits. */
  shortage(pod: number, node: number): number {
    for (let resource = 0; resource < this.#resources; resource++) {
      const demand = this.#demand[pod * this.#resources + resource]!;
      if (demand > 0 && demand > this.#left[node * this.#resources + resource]!) return resource;
    }
    return -1;
  }

  /**
   * What the pod would add to the pressure there, and to the overload, and what moving it costs, in the unit
   * of `scale`.
   */
  pressureOf(pod: number, node: number): number {
    return this.requestsOf(pod, node) + this.overload.costOf(pod, node) + this.moveOf(pod, node);
  }

  /** Of that what moving it costs. A pod that runs nowhere yet moves for nothing. */
  moveOf(pod: number, node: number): number {
    const home = this.homeOf(pod);
    return home < 0 || home === node ? 0 : this.#moveCost;
  }

  /** The node that it costs something to leave; -1: none. */
  homeOf(pod: number): number {
    return this.#moveCost > 0 ? this.#problem.pods[pod]!.current : -1;
  }

  /** Of that what requests make. */
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

  /** Resources whose load has a price, by index. */
  get pressed(): readonly number[] {
    return this.#pressed;
  }

  left(node: number, resource: number): number {
    return this.#left[node * this.#resources + resource]!;
  }

  /** Load L of the node costs `price` x L^3 in all; `load` is what it has now. */
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

/** By node and resource, what all problems on the same nodes begin with. */
interface Amounts {
  readonly nodes: PlanNode[];
  /** Names of the resources. */
  readonly kind: string;
  readonly free: Float64Array;
  readonly allocatable: Float64Array;
  readonly steepness: Float64Array;
}

/** Of the last problem on each cluster graph: between two of them few of thousands of nodes change. */
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
  // A part of the nodes is looked at once, all of them again and again.
  if (kept === undefined || nodes.length >= kept.nodes.length) KEPT.set(cluster, amounts);
  return amounts;
}

/** Whether only what pods leave of them differs: the rest is still looked up for plans of before. */
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
