import { CostField } from "./cost-field.ts";
import type { PlanProblem } from "./plan-problem.ts";

export interface PlaceCosts {
  readonly latencyShare: number;
  /** Place by node id. */
  readonly placeOf: Int32Array;
  readonly places: number;
  readonly costs: Float64Array;
  readonly elsewhere: number;
}

/** Two pods on one node pay the cost within its place. */
export class PairField extends CostField {
  readonly #by: PlaceCosts;
  readonly #columns = new Map<number, { readonly to: Float64Array; readonly from: Float64Array }>();

  constructor(problem: Pick<PlanProblem, "cluster" | "nodeNames" | "nodes">, by: PlaceCosts) {
    super(problem);
    this.#by = by;
  }

  override ms(from: number, to: number): number {
    const { latencyShare } = this.#by;
    const ms = latencyShare === 0 ? 0 : latencyShare * super.ms(from, to);
    return ms + this.#between(from, to);
  }

  override errorMs(from: number, to: number): number {
    const { latencyShare } = this.#by;
    return latencyShare === 0 ? 0 : latencyShare * super.errorMs(from, to);
  }

  override to(location: number): Float64Array {
    return this.#columnsOf(location).to;
  }

  override from(location: number): Float64Array {
    return this.#columnsOf(location).from;
  }

  #columnsOf(location: number): { readonly to: Float64Array; readonly from: Float64Array } {
    let columns = this.#columns.get(location);
    if (columns === undefined) {
      columns = {
        to: this.#mixed(super.to(location), (node) => this.#between(node, location)),
        from: this.#mixed(super.from(location), (node) => this.#between(location, node)),
      };
      if (this.#columns.size >= this.maxColumns) this.#columns.delete(this.#columns.keys().next().value!);
      this.#columns.set(location, columns);
    }
    return columns;
  }

  #mixed(ms: Float64Array, placesOf: (node: number) => number): Float64Array {
    const { latencyShare } = this.#by;
    return Float64Array.from(ms, (each, node) => latencyShare * each + placesOf(node));
  }

  #between(from: number, to: number): number {
    const { placeOf, places, costs, elsewhere } = this.#by;
    const [a, b] = [this.id(from), this.id(to)];
    return a < 0 || b < 0 ? elsewhere : costs[placeOf[a]! * places + placeOf[b]!]!;
  }
}
