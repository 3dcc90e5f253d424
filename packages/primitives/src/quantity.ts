// Kubernetes quantities: a decimal number with a decimal suffix, a binary suffix or a decimal exponent.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/

declare const UNIT: unique symbol;
/** The compiler refuses a number of another unit in its place, and takes a plain one. */
type Amount<Unit extends string> = number & { readonly [UNIT]?: Unit };

/** CPU in thousandths of a core. */
export type Millicores = Amount<"millicores">;
export type Bytes = Amount<"bytes">;
export type BitsPerSecond = Amount<"bitsPerSecond">;

const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?(?:(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)|[eE]([+-]?\d{1,3}))?$/;
/**
 * No amount needs more characters, or more digits in an exponent. The limits bound the work that a hostile
 * text can cause.
 */
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

/** The exact value `digits * 10 ** exponent`. */
interface Decimal {
  /** Below 0 for a negative quantity. */
  readonly digits: bigint;
  readonly exponent: number;
}

/** Null for what is no quantity. The caller bounds the length of the text. */
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
 * CPU in thousandths of a core, rounded up as Kubernetes rounds: "250m" and 0.25 are 250, "100n" is 1.
 * Null unless it is a quantity from 0 to 2^53 - 1 thousandths.
 */
export function parseMillicores(quantity: unknown): Millicores | null {
  return roundedUp(decimalOf(quantity), 3);
}

/** Memory or traffic in bytes, rounded up. Null unless it is a quantity from 0 to 2^53 - 1. */
export function parseBytes(quantity: unknown): Bytes | null {
  return roundedUp(decimalOf(quantity), 0);
}

/** A rate in bits per second, rounded up. Null unless it is a quantity from 0 to 2^53 - 1. */
export function parseBitsPerSecond(quantity: unknown): BitsPerSecond | null {
  return roundedUp(decimalOf(quantity), 0);
}

/** A quantity in its base unit, not rounded: the nearest double. Null unless it is from 0 to 2^53 - 1. */
export function parseAmount(quantity: unknown): number | null {
  const decimal = decimalOf(quantity);
  if (decimal === null) return null;
  const amount = Number(`${decimal.digits}e${decimal.exponent}`);
  return amount <= Number.MAX_SAFE_INTEGER ? amount : null;
}

/** Texts that were read: replicas of a workload say the same. */
const MAX_KNOWN = 1_000;
const known = new Map<string, Decimal | null>();

/** Null for what is no quantity, and for a negative one. */
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

/** In integers: 1.1 cores are 1100 thousandths. To round up a binary fraction would give 1101. */
function roundedUp(decimal: Decimal | null, decimals: number): number | null {
  if (decimal === null) return null;
  const scaled = scaledUp(decimal, decimals);
  return scaled <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(scaled) : null;
}
