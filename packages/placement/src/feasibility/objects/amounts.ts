// Amounts of resources, exact as kube-scheduler's: quantities are added as decimals, and only the sum is
// rounded up to whole units. In binary fractions 0.1 + 0.2 CPU would be one millicore more.
import { parseDecimal, scaledUp } from "@isochrone/primitives";
import { record } from "./json.ts";

/**
 * Whole units by resource name: cpu in millicores, memory and ephemeral-storage in bytes, all others in
 * pieces.
 */
export type Amounts = ReadonlyMap<string, number>;

/** Billionths, the finest that a Kubernetes quantity can be. */
export type ExactAmounts = Map<string, bigint>;

const NANO = 1_000_000_000n;
const NANO_DECIMALS = 9;
const MAX_INT64 = 2n ** 63n - 1n;
/** Kubernetes caps amounts with a binary suffix, and only those, at this many whole units. */
const MAX_BINARY_AMOUNT = MAX_INT64 * NANO;
/** More characters than any amount needs; a bound on the work that a hostile text can cause. */
const MAX_LENGTH = 64;
const MAX_KNOWN = 10_000;
const known = new Map<string, bigint | null>();

/** A quantity in billionths, rounded up; null when it isn't one. */
export function exactQuantity(value: unknown): bigint | null {
  if (typeof value !== "string" && typeof value !== "number") return null;
  const text = String(value);
  if (text.length > MAX_LENGTH) return null;
  const before = known.get(text);
  if (before !== undefined) return before;
  const parsed = parse(text);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(text, parsed);
  return parsed;
}

/** Of a list such as `resources.requests`; what is no quantity is left out. */
export function exactAmounts(list: unknown): ExactAmounts {
  const amounts: ExactAmounts = new Map();
  for (const [name, value] of Object.entries(record(list))) {
    const exact = exactQuantity(value);
    if (exact !== null) amounts.set(name, exact);
  }
  return amounts;
}

export function addAmounts(to: ExactAmounts, amounts: ExactAmounts): void {
  for (const [name, amount] of amounts) to.set(name, (to.get(name) ?? 0n) + amount);
}

/** The greater of both, by name. */
export function raiseAmounts(to: ExactAmounts, amounts: ExactAmounts): void {
  for (const [name, amount] of amounts) {
    const before = to.get(name);
    if (before === undefined || amount > before) to.set(name, amount);
  }
}

/**
 * Rounded up, without those that no node can limit. kube-scheduler counts in int64 and reads an amount that
 * doesn't fit as 0 ("1e308" CPU), so it puts such a pod on any node. It is 0 here, too: otherwise a pod with
 * an absurd request would keep others away from a node that kube-scheduler gives them.
 */
export function wholeUnits(amounts: ExactAmounts): Map<string, number> {
  const units = new Map<string, number>();
  for (const [name, amount] of amounts) {
    if (!isLimited(name)) continue;
    const whole = scaledUp({ digits: amount, exponent: -NANO_DECIMALS }, name === "cpu" ? 3 : 0);
    units.set(name, whole > MAX_INT64 ? 0 : Number(whole));
  }
  return units;
}

/** As framework.Resource takes resources up: standard ones, extended ones, hugepages, attachable volumes. */
function isLimited(name: string): boolean {
  return (
    name === "cpu" ||
    name === "memory" ||
    name === "ephemeral-storage" ||
    name.includes("/") ||
    name.startsWith("hugepages-") ||
    name.startsWith("attachable-volumes-")
  );
}

function parse(text: string): bigint | null {
  const decimal = parseDecimal(text.trim());
  if (decimal === null) return null;
  const { digits, exponent } = decimal;
  const size = scaledUp({ digits: digits < 0n ? -digits : digits, exponent }, NANO_DECIMALS);
  const capped = text.trim().endsWith("i") && size > MAX_BINARY_AMOUNT ? MAX_BINARY_AMOUNT : size;
  return digits < 0n ? -capped : capped;
}
