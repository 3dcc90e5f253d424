// Kubernetes resource quantities, as far as manifests use them for CPU and memory.

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

const QUANTITY = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+)|([A-Za-z]{0,2}))$/;

/** The value in base units (cores, bytes), or null when it is not a non-negative quantity. */
export function parseQuantity(text: unknown): number | null {
  if (typeof text !== "string" && typeof text !== "number") return null;
  const match = QUANTITY.exec(String(text).trim());
  if (match === null) return null;
  const factor = match[2] === undefined ? SUFFIXES[match[3] ?? ""] : 10 ** Number(match[2]);
  if (factor === undefined) return null;
  const value = Number(match[1]) * factor;
  return Number.isFinite(value) && value >= 0 ? value : null;
}

/** CPU in millicores, rounded up as Kubernetes does. */
export function parseMillicores(text: unknown): number | null {
  const cores = parseQuantity(text);
  return cores === null ? null : Math.ceil(Number((cores * 1000).toFixed(6)));
}

/** Memory in bytes, rounded up. */
export function parseBytes(text: unknown): number | null {
  const bytes = parseQuantity(text);
  return bytes === null ? null : Math.ceil(bytes);
}
