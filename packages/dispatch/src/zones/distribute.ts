// Weights as whole percents for Istio's `distribute`; each zone's must sum up to 100.
import type { ZoneWeights } from "./zone-weights.ts";

export function percents(weights: ZoneWeights): ReadonlyMap<string, ReadonlyMap<string, number>> {
  return new Map(Array.from(weights, ([zone, shares]) => [zone, percentsOf(shares)]));
}

function percentsOf(shares: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  let total = 0;
  for (const share of shares.values()) total += share;
  const exact = Array.from(shares, ([to, share]) => ({ to, percent: (share / total) * 100 }));
  const whole = new Map(exact.map(({ to, percent }) => [to, Math.floor(percent + 1e-9)]));
  let left = 100;
  for (const percent of whole.values()) left -= percent;
  const byRest = exact.toSorted((a, b) => (b.percent % 1) - (a.percent % 1) || (a.to < b.to ? -1 : 1));
  for (const { to } of byRest.slice(0, left)) whole.set(to, whole.get(to)! + 1);
  return new Map([...whole].filter(([, percent]) => percent > 0));
}
