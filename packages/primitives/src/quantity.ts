// Kubernetes quantities: decimal number with decimal suffix, binary suffix or exponent.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/

declare const UNIT: unique symbol;
/** A branded number: other units are type errors, plain numbers are accepted. */
type Amount<Unit extends string> = number & { readonly [UNIT]?: Unit };

export type Millicores = Amount<"millicores">;
export type Bytes = Amount<"bytes">;
export type BitsPerSecond = Amount<"bitsPerSecond">;

const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?(?:(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)|[eE]([+-]?\d{1,3}))?$/;
/** Limits on characters and exponent digits, to bound the work of hostile text. */
const MAX_LENGTH = 40;
const LONG_EXPONENT = /[eE][+-]?\d{3}$/;
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

interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** Null for an invalid quantity. The caller bounds the text's length. */
export function parseDecimal(text: string): Decimal | null {
  const match = QUANTITY.exec(text);
  if (match === null) return null;
  const [, sign = "", integer = "", fraction = "", suffix = "", exponent = "0"] = match;
  if (integer + fraction === "") return null;
  const digits = BigInt(integer + fraction) * 1024n ** BigInt(BINARY_SUFFIXES.indexOf(suffix) + 1);
  return {
    digits: sign === "-" ? -digits : digits,
    exponent: (DECIMAL_EXPONENTS[suffix] ?? 0) + Number(exponent) - fraction.length,
  };
}

/** `decimal * 10 ** decimals`, rounded up to a whole number. */
export function scaledUp({ digits, exponent }: Decimal, decimals: number): bigint {
  const shift = exponent + decimals;
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  const quotient = digits / divisor;
  return digits > 0n && digits % divisor !== 0n ? quotient + 1n : quotient;
}

/**
 * CPU in thousandths of a core, rounded up like Kubernetes: "250m" and 0.25 are 250, "100n" is 1. Null unless
 * from 0 to 2^53 - 1.
 */
export function parseMillicores(quantity: unknown): Millicores | null {
  return roundedUp(decimalOf(quantity), 3);
}

export function parseBytes(quantity: unknown): Bytes | null {
  return roundedUp(decimalOf(quantity), 0);
}

export function parseBitsPerSecond(quantity: unknown): BitsPerSecond | null {
  return roundedUp(decimalOf(quantity), 0);
}

/** Base units as the nearest double. Null unless a quantity from 0 to 2^53 - 1. */
export function parseAmount(quantity: unknown): number | null {
  const decimal = decimalOf(quantity);
  if (decimal === null) return null;
  const amount = Number(`${decimal.digits}e${decimal.exponent}`);
  return amount <= Number.MAX_SAFE_INTEGER ? amount : null;
}

/** Cache size: replicas of a workload use equal texts. */
const MAX_KNOWN = 1_000;
const known = new Map<string, Decimal | null>();

function decimalOf(quantity: unknown): Decimal | null {
  if (typeof quantity !== "string" && typeof quantity !== "number") return null;
  const text = String(quantity);
  if (text.length > MAX_LENGTH) return null;
  let decimal = known.get(text);
  if (decimal === undefined) {
    decimal = LONG_EXPONENT.test(text) ? null : parseDecimal(text);
    if (decimal !== null && decimal.digits < 0n) decimal = null;
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(text, decimal);
  }
  return decimal;
}

/** Integer arithmetic: 1.1 cores are 1100 thousandths; a binary fraction would round up to 1101. */
function roundedUp(decimal: Decimal | null, decimals: number): number | null {
  if (decimal === null) return null;
  const scaled = scaledUp(decimal, decimals);
  return scaled <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(scaled) : null;
}
