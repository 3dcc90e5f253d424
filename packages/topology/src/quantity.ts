// Kubernetes quantities ("1500m", "2Gi", "1e3"), as far as CPU, memory and rates use them.
import { isFigure, MAX_AMOUNT } from "./figures.ts";

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

/** More characters than any amount needs. */
const MAX_LENGTH = 40;

/** The value of a quantity in its base unit (cores, bytes), from 0 to MAX_AMOUNT; null when it isn't one. */
export function parseQuantity(text: unknown): number | null {
  const value = typeof text === "number" ? text : valueOf(text);
  return value !== null && isFigure(value, MAX_AMOUNT) ? value + 0 : null;
}

/** CPU in thousandths of a core, likewise. */
export function parseMillicores(text: unknown): number | null {
  const cores = parseQuantity(text);
  return cores === null ? null : Math.min(MAX_AMOUNT, cores * 1000);
}

function valueOf(text: unknown): number | null {
  if (typeof text !== "string" || text.length > MAX_LENGTH) return null;
  const match = QUANTITY.exec(text.trim());
  return match === null ? null : Number(match[1]) * SUFFIXES[match[2]!]!;
}
