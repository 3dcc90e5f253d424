import { fairLevel } from "@isochrone/primitives/algorithms";
import { FLOW_PLAN_BOUNDS, type PlannedFlow } from "@isochrone/topology";
import { shownRate } from "./rates.ts";

const ROUNDING = 1.001;

/**
 * Divides a link max-min fairly among namespaces, and by planned rates within one. Guarantees add up to at
 * most the capacity minus the rest share, so HTB never exceeds the link.
 */
export class LinkShare {
  readonly #capacity: number;
  readonly #planned = new Map<string, number>();
  readonly #level: number;
  readonly plannedBitsPerSecond: number;
  readonly restBitsPerSecond: number;

  constructor(capacity: number, flows: readonly PlannedFlow[]) {
    this.#capacity = capacity;
    for (const { owner, bitsPerSecond } of flows) {
      const before = this.#planned.get(owner.namespace) ?? 0;
      this.#planned.set(owner.namespace, before + shownRate(bitsPerSecond));
    }
    this.#level = fairLevel(this.#planned.values(), capacity * (1 - FLOW_PLAN_BOUNDS.restShare));
    this.plannedBitsPerSecond = sum(this.#planned.values());
    const promised = sum(flows.map((flow) => this.promised(flow)));
    this.restBitsPerSecond = shownRate(Math.max(capacity - promised, 0));
  }

  promised({ owner, bitsPerSecond }: PlannedFlow): number {
    return shownRate(shownRate(bitsPerSecond) * this.#factorOf(owner));
  }

  /** Whether a flow's guarantee is below its plan because the plan exceeds the link. */
  isCut({ owner }: PlannedFlow): boolean {
    return this.plannedBitsPerSecond > this.#capacity * ROUNDING && this.#factorOf(owner) < 1;
  }

  #factorOf({ namespace }: PlannedFlow["owner"]): number {
    return Math.min(1, this.#level / this.#planned.get(namespace)!);
  }
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
