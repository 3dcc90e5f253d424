// Adds quantities as decimals, as kube-scheduler does: binary fractions of 0.1 + 0.2 CPU would be a millicore
// more.
import { parseDecimal, scaledUp } from "@isochrone/primitives";
import { record } from "./json.ts";

/** Whole units by resource: cpu in millicores, memory and ephemeral-storage in bytes, others in pieces. */
export type Amounts = ReadonlyMap<string, number>;

/** Billionths, the finest Kubernetes quantity. */
export type ExactAmounts = Map<string, bigint>;

const NANO = 1_000_000_000n;
const NANO_DECIMALS = 9;
const MAX_INT64 = 2n ** 63n - 1n;
/** Kubernetes caps only amounts with a binary suffix at this many units. */
const MAX_BINARY_AMOUNT = MAX_INT64 * NANO;
/** Longer than any amount; bounds the work on hostile text. */
const MAX_LENGTH = 64;
const MAX_KNOWN = 10_000;
const known = new Map<string, bigint | null>();

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

/** Skips invalid quantities. */
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

export function raiseAmounts(to: ExactAmounts, amounts: ExactAmounts): void {
  for (const [name, amount] of amounts) {
    const before = to.get(name);
    if (before === undefined || amount > before) to.set(name, amount);
  }
}

/**
 * Rounds up and drops unlimited resources. An amount above int64 counts as 0: kube-scheduler admits such a
 * pod anywhere.
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
