import type { CostModel } from "../objective/objective.ts";

/**
 * By how much the difference between the costs of two assignments may be wrong, because links are measured
 * with an error: rates times errors, links taken as independent of each other. What both send over the same
 * link cancels out. Channels to the nearest replica don't say which link they take, and count for nothing.
 * Bytes per second x milliseconds.
 */
export function gainNoise(model: CostModel, a: Int32Array, b: Int32Array): number {
  const rates = new Map<string, LinkRate>();
  addRates(model, a, 1, rates);
  addRates(model, b, -1, rates);
  let square = 0;
  for (const { from, to, rate } of rates.values())
    // Rates cancel out up to rounding; the error of a link may be infinite.
    if (Math.abs(rate) > LEAST_RATE) square += (rate * model.field.errorMs(from, to)) ** 2;
  return Math.sqrt(square);
}

/** Bytes per second. */
const LEAST_RATE = 1e-6;

interface LinkRate {
  readonly from: number;
  readonly to: number;
  rate: number;
}

/** Each pair of planned pods once, from the one that calls. */
function addRates(
  { traffic: { groups, groupOf } }: CostModel,
  assignment: Int32Array,
  sign: 1 | -1,
  rates: Map<string, LinkRate>,
): void {
  const add = (from: number, to: number, rate: number): void => {
    if (from === to || rate === 0) return;
    const key = `${from} ${to}`;
    const known = rates.get(key);
    if (known === undefined) rates.set(key, { from, to, rate: sign * rate });
    else known.rate += sign * rate;
  };
  for (const [pod, node] of assignment.entries()) {
    const group = groups[groupOf[pod]!];
    if (node < 0 || group === undefined) continue;
    for (const { location, calling, called } of group.fixed) {
      add(node, location, calling);
      add(location, node, called);
    }
    for (const link of group.links)
      for (const peer of groups[link.group]!.pods)
        if (peer !== pod && assignment[peer]! >= 0) add(node, assignment[peer]!, link.calling);
  }
}
