// Kubernetes quantities ("1500m", "2Gi", "1e3"), as far as CPU, memory and rates use them.

const SUFFIXES: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const QUANTITY = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|)$/;

/** The value of a quantity in its base unit (cores, bytes); null when it isn't one. */
export function parseQuantity(text: unknown): number | null {
  if (typeof text === "number") return Number.isFinite(text) ? text : null;
  const match = typeof text === "string" ? QUANTITY.exec(text.trim()) : null;
  if (match === null) return null;
  const value = Number(match[1]) * SUFFIXES[match[2]!]!;
  return Number.isFinite(value) ? value : null;
}
