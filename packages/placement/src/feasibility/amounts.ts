// Amounts of resources, exact as kube-scheduler's: quantities are added as decimals, and only the sum is rounded up to whole units. In
// binary fractions 0.1 + 0.2 CPU would be one millicore more.
import { record } from "./json.ts";

/** Whole units by resource name: cpu in millicores, memory and ephemeral-storage in bytes, all others in pieces. */
export type Amounts = ReadonlyMap<string, number>;

/** Billionths, the finest that a Kubernetes quantity can be. */
export type ExactAmounts = Map<string, bigint>;

const NANO = 1_000_000_000n;
const MICRO = 1_000_000n;
const QUANTITY = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3})|(n|u|m|k|Ki|Mi|Gi|Ti|Pi|Ei|M|G|T|P|E))?$/;
/** Exponents of ten. */
const DECIMAL: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
/** Exponents of two. */
const BINARY: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
/** As Kubernetes caps amounts: 2^63 - 1 whole units. */
const MAX_AMOUNT = (2n ** 63n - 1n) * NANO;
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

/** Rounded up, without those that no node can limit. */
export function wholeUnits(amounts: ExactAmounts): Map<string, number> {
  const units = new Map<string, number>();
  for (const [name, amount] of amounts)
    if (isLimited(name)) units.set(name, Number(ceil(amount, name === "cpu" ? MICRO : NANO)));
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
  const match = QUANTITY.exec(text.trim());
  if (match === null) return null;
  const [, sign, whole = "", fraction = "", exponent, suffix = ""] = match;
  if (whole === "" && fraction === "") return null;
  const digits = BigInt(whole + fraction);
  const tens = (exponent === undefined ? (DECIMAL[suffix] ?? 0) : Number(exponent)) - fraction.length + 9;
  const scaled = digits << BigInt(BINARY[suffix] ?? 0);
  const value = tens >= 0 ? scaled * 10n ** BigInt(tens) : ceil(scaled, 10n ** BigInt(-tens));
  const capped = value > MAX_AMOUNT ? MAX_AMOUNT : value;
  return sign === "-" ? -capped : capped;
}

function ceil(value: bigint, unit: bigint): bigint {
  const quotient = value / unit;
  return value > 0n && value % unit !== 0n ? quotient + 1n : quotient;
}
