import { StoreError } from "./errors.ts";

// Kubernetes quantities: a decimal number with an SI suffix, a binary suffix or a decimal exponent.

const QUANTITY = /^\+?(\d*)(?:\.(\d*))?(?:(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)|[eE]([+-]?\d{1,2}))?$/;
/** More characters than any amount needs; a bound on the work that a hostile text can cause. */
const MAX_LENGTH = 40;
const DECIMAL_EXPONENTS: Readonly<Record<string, number>> = {
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
const BINARY_SUFFIXES = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** CPU in thousandths of a core, rounded up as Kubernetes rounds. Throws StoreError `invalid` unless it is an amount of 0 or more. */
export function parseCpuMillicores(quantity: string | number): number {
  return parseQuantity(quantity, 3);
}

/** Memory in bytes, rounded up. Throws StoreError `invalid` unless it is an amount of 0 or more. */
export function parseMemoryBytes(quantity: string | number): number {
  return parseQuantity(quantity, 0);
}

/** The amount by one of the parsers above, or null where it is absent or unreadable. */
export function amountOrNull(quantity: unknown, parse: (quantity: string | number) => number): number | null {
  if (typeof quantity !== "string" && typeof quantity !== "number") return null;
  try {
    return parse(quantity);
  } catch {
    return null;
  }
}

/** "250m", "2": the canonical form, rounded up to whole millicores. */
export function formatCpu(millicores: number): string {
  const whole = Math.ceil(requireAmount("CPU in millicores", millicores));
  return whole % 1000 === 0 ? String(whole / 1000) : `${whole}m`;
}

/** "128Mi", "1500": the largest binary suffix that keeps the number whole, rounded up to whole bytes. */
export function formatMemory(bytes: number): string {
  let amount = Math.ceil(requireAmount("memory in bytes", bytes));
  let suffix = "";
  for (const next of BINARY_SUFFIXES) {
    if (amount === 0 || amount % 1024 !== 0) break;
    amount /= 1024;
    suffix = next;
  }
  return `${amount}${suffix}`;
}

/** Exact, in integers: 1.1 cores are 1100 millicores, not the 1101 that rounding up a binary fraction would give. */
function parseQuantity(quantity: string | number, decimals: number): number {
  const match =
    typeof quantity === "object" ? null : QUANTITY.exec(String(quantity).slice(0, MAX_LENGTH + 1));
  const [text = "", integer = "", fraction = "", suffix = "", exponent = "0"] = match ?? [];
  if (text.length > MAX_LENGTH || integer + fraction === "") return refuse(quantity);
  const binary = 1024n ** BigInt(BINARY_SUFFIXES.indexOf(suffix) + 1);
  const shift = (DECIMAL_EXPONENTS[suffix] ?? 0) + Number(exponent) + decimals - fraction.length;
  const digits = BigInt(integer + fraction) * binary;
  const divisor = shift < 0 ? 10n ** BigInt(-shift) : 1n;
  const scaled = shift < 0 ? (digits + divisor - 1n) / divisor : digits * 10n ** BigInt(shift);
  return scaled <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(scaled) : refuse(quantity);
}

function requireAmount(subject: string, value: number): number {
  if (Number.isFinite(value) && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value;
  throw new StoreError("invalid", `${subject} must be an amount from 0 to 2^53 - 1, got ${value}`);
}

function refuse(quantity: unknown): never {
  const shown = typeof quantity === "string" ? `"${quantity.slice(0, MAX_LENGTH)}"` : String(quantity);
  throw new StoreError(
    "invalid",
    `a Kubernetes quantity must be an amount from 0 to 2^53 - 1 such as 250m or 128Mi, got ${shown}`,
  );
}
