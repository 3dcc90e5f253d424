import type { Labels } from "../scenario/model.ts";
import type { Estimate } from "../statistics/bootstrap.ts";

const MINUS = "\u2212";
const NARROW = "\u202f";

/** Three significant digits: 7.42, 74.2, 742, 7420; grouped from 10 000 on. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return "\u2013";
  const size = Math.abs(value);
  const decimals = size === 0 || size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  const text = value.toFixed(decimals);
  return signed(value, size >= 10_000 ? text.replaceAll(/\B(?=(\d{3})+$)/g, NARROW) : text);
}

/** -0.394 is "−39.4 %"; `plus` adds a sign to increases. */
export function percent(share: number, plus = false): string {
  if (share === Number.POSITIVE_INFINITY) return "\u221e";
  if (!Number.isFinite(share)) return "\u2013";
  const value = share * 100;
  const text = signed(value, value.toFixed(Math.abs(value) >= 99.95 ? 0 : 1));
  return `${plus && value > 0 ? "+" : ""}${text}${NARROW}%`;
}

function signed(value: number, text: string): string {
  const bare = text.replace(/^-/, "");
  return value < 0 && /[1-9]/.test(bare) ? `${MINUS}${bare}` : bare;
}

/** `1 point`, `2 points` */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

export function interval({ mean, low, high }: Estimate): string {
  return `${figure(mean)} [${figure(low)}, ${figure(high)}]`;
}

export function changeInterval({ mean, low, high }: Estimate): string {
  return `${percent(mean, true)} [${percent(low, true)}, ${percent(high, true)}]`;
}

export function probability(p: number): string {
  return p < 0.0001 ? "< 0.0001" : p.toFixed(4);
}

/** `rttMs 100, users 300` */
export function labelText(labels: Labels, except: readonly string[] = []): string {
  const parts = Object.entries(labels).filter(([name]) => !except.includes(name));
  return parts.map(([name, value]) => `${name} ${value}`).join(", ");
}
