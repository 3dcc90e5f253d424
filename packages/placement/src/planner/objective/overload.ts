import type { PlanProblem } from "./plan-problem.ts";

/**
 * Use of the nodes' CPU as it is measured, and what it costs beyond what they can take: `price` for each
 * millicore above the limit. Convex, like the pressure of requests: pods that are alike are spread only as
 * far as it takes.
 */
export class Overload {
  /** Cost of a millicore too much. */
  readonly price: number;
  /** By node: what is used less what may be, millicores. Below 0: there is room. */
  readonly #above: Float64Array;
  readonly #pods: Float64Array;

  private constructor(price: number, above: Float64Array, pods: Float64Array) {
    this.price = price;
    this.#above = above;
    this.#pods = pods;
  }

  /**
   * Of the nodes without any planned pod.
   * @param scale cost of all planned use being too much
   * @param maxCpuUse share of a node's CPU that may be used; 0: any
   */
  static of({ nodes, use }: PlanProblem, scale: number, maxCpuUse: number): Overload {
    const pods = use?.pods ?? new Float64Array(0);
    const sum = maxCpuUse === 0 ? 0 : pods.reduce((all, each) => all + each, 0);
    // Nobody asks about a node where use costs nothing.
    if (use === undefined) return new Overload(0, new Float64Array(0), pods);
    const above = new Float64Array(nodes.length).fill(Number.NEGATIVE_INFINITY);
    for (let node = 0; node < nodes.length; node++) {
      const capacity = use.capacity[node]!;
      if (capacity > 0) above[node] = use.others[node]! - capacity * maxCpuUse;
    }
    return new Overload(sum > 0 ? scale / sum : 0, above, pods);
  }

  /** Another one in the same state. */
  copy(): Overload {
    return new Overload(this.price, this.#above.slice(), this.#pods);
  }

  /** What the pod would add there. */
  costOf(pod: number, node: number): number {
    if (this.price === 0) return 0;
    const above = this.#above[node]!;
    return this.price * (Math.max(0, above + this.#pods[pod]!) - Math.max(0, above));
  }

  /**
   * How much may still be used there, millicores; Infinity where nobody knows, below 0 where it is too much
   * already.
   */
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
