import type { PlanProblem } from "./plan-problem.ts";

/**
 * Measured CPU use above the nodes' limits: `price` per millicore. Convex, so equal pods spread only as far
 * as needed.
 */
export class Overload {
  readonly price: number;
  /** Use minus limit by node, millicores. Negative: free. */
  readonly #above: Float64Array;
  readonly #pods: Float64Array;

  private constructor(price: number, above: Float64Array, pods: Float64Array) {
    this.price = price;
    this.#above = above;
    this.#pods = pods;
  }

  /**
   * Overload before planned pods.
   * @param scale cost if all planned use were excess
   * @param maxCpuUse usable fraction of a node's CPU; 0: unlimited
   */
  static of({ nodes, use }: PlanProblem, scale: number, maxCpuUse: number): Overload {
    const pods = use?.pods ?? new Float64Array(0);
    const sum = maxCpuUse === 0 ? 0 : pods.reduce((all, each) => all + each, 0);
    // Nodes don't matter where use is free.
    if (use === undefined) return new Overload(0, new Float64Array(0), pods);
    const above = new Float64Array(nodes.length).fill(Number.NEGATIVE_INFINITY);
    for (let node = 0; node < nodes.length; node++) {
      const capacity = use.capacity[node]!;
      if (capacity > 0) above[node] = use.others[node]! - capacity * maxCpuUse;
    }
    return new Overload(sum > 0 ? scale / sum : 0, above, pods);
  }

  copy(): Overload {
    return new Overload(this.price, this.#above.slice(), this.#pods);
  }

  costOf(pod: number, node: number): number {
    if (this.price === 0) return 0;
    const above = this.#above[node]!;
    return this.price * (Math.max(0, above + this.#pods[pod]!) - Math.max(0, above));
  }

  /** Free millicores; Infinity: unknown, negative: excess. */
  room(node: number): number {
    return -(this.#above[node] ?? Number.NEGATIVE_INFINITY);
  }

  useOf(pod: number): number {
    return this.#pods[pod] ?? 0;
  }

  add(pod: number, node: number): void {
    if (this.price > 0) this.#above[node]! += this.#pods[pod]!;
  }

  remove(pod: number, node: number): void {
    if (this.price > 0) this.#above[node]! -= this.#pods[pod]!;
  }
}
