// Rates that planned flows are promised on a link, also where the plan has more than the link.
import { fairLevel } from "@isochrone/primitives/algorithms";
import { FLOW_PLAN_BOUNDS, type PlannedFlow } from "@isochrone/topology";
import { shownRate } from "./rates.ts";

/** Rounding of a capacity takes up to 0.1 %: a plan that fills a link to the last bit may be over by that. */
const ROUNDING = 1.001;

/**
 * Namespaces share a link max-min fairly, and flows of one namespace by their rates. All promised rates add
 * up to at most the capacity without the rest share, so that HTB never sends more than the link carries.
 */
export class LinkShare {
  readonly #capacity: number;
  /** Planned bits per second by namespace. */
  readonly #planned = new Map<string, number>();
  readonly #level: number;
  /** Bits per second that the plan has on the link, before it is cut. */
  readonly plannedBitsPerSecond: number;
  /** Bits per second for all traffic without a plan. */
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

  /** Bits per second that the flow gets even if all others send. */
  promised({ owner, bitsPerSecond }: PlannedFlow): number {
    return shownRate(shownRate(bitsPerSecond) * this.#factorOf(owner));
  }

  /** Whether the flow is promised less than planned because the plan has more than the link. */
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
