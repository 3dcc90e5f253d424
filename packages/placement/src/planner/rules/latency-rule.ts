import { networkCost, type CostModel } from "../objective/objective.ts";
import type { NearestCost } from "../objective/nearest-channel.ts";
import { PayColumns } from "../objective/pay-columns.ts";
import type { PodsRule } from "./limit-rule.ts";
import type { Rule } from "./rule.ts";

/** Relative tolerance for rounding. */
const ROUNDING = 1e-9;

export function latencyRules({ latency, latencyLimit, problem }: CostModel): PodsRule[] {
  if (latency === null || latencyLimit === Infinity) return [];
  const rule = new LatencyRule(latency, latencyLimit, problem.pods.length);
  return [{ rule, pods: new Set(problem.pods.keys()) }];
}

/** Bounds the total latency cost of placed pods, bytes/s x ms. */
class LatencyRule implements Rule {
  readonly name = "the bound on network latency";
  readonly #network: NonNullable<CostModel["latency"]>;
  readonly #limit: number;
  readonly #pays: PayColumns;
  readonly #nearestOf: readonly (readonly NearestCost[])[];
  readonly #assignment: Int32Array;
  readonly #base: number;
  #placed = 0;
  #sum: number;

  constructor(network: NonNullable<CostModel["latency"]>, limit: number, pods: number) {
    this.#network = network;
    this.#limit = limit * (1 + ROUNDING);
    this.#pays = new PayColumns(network.field, network.traffic.groups);
    const { nearest } = network.traffic;
    this.#nearestOf = Array.from({ length: pods }, (_, pod) => nearest.filter((each) => each.concerns(pod)));
    this.#assignment = new Int32Array(pods).fill(-1);
    this.#base = networkCost(network, this.#assignment);
    this.#sum = this.#base;
  }

  add(pod: number, node: number): void {
    this.#sum += this.#addedBy(pod, node);
    this.#assignment[pod] = node;
    this.#placed++;
    this.#tell(pod, node, 1);
  }

  remove(pod: number, node: number): void {
    this.#tell(pod, node, -1);
    this.#assignment[pod] = -1;
    this.#placed--;
    if (this.#placed > 0) {
      this.#sum -= this.#addedBy(pod, node);
      return;
    }
    // Discards accumulated rounding errors.
    this.#sum = this.#base;
    this.#pays.clear();
  }

  admits(pod: number, node: number): boolean {
    return this.#sum + this.#addedBy(pod, node) <= this.#limit;
  }

  holds(): boolean {
    return this.#sum <= this.#limit;
  }

  #addedBy(pod: number, node: number): number {
    const group = this.#network.traffic.groupOf[pod]!;
    let ms = group < 0 ? 0 : this.#pays.at(group, node);
    for (const channel of this.#nearestOf[pod]!) ms += channel.added(this.#assignment, pod, node);
    return ms;
  }

  #tell(pod: number, node: number, by: 1 | -1): void {
    const group = this.#network.traffic.groupOf[pod]!;
    if (group >= 0) this.#pays.tell(group, node, by);
  }
}
