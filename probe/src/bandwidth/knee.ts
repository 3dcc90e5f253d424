// Detects the moment a link becomes full, from the bins around it.
import { lastDelayNs, type ArrivalBin } from "./arrivals.ts";
import { isFull, type EstimateRules } from "./estimate.ts";

const GROWTH_NS = 1_000_000;

export function fullRun(bins: readonly ArrivalBin[], rules: EstimateRules): readonly ArrivalBin[] {
  let from = bins.length;
  while (from > 0 && isFull(bins[from - 1]!, rules)) from--;
  return bins.slice(from);
}

export function isPoliced(bins: readonly ArrivalBin[]): boolean {
  return isLosing(bins) && (bins.at(-1)?.lost ?? 0) > 0;
}

export function isLosing(bins: readonly ArrivalBin[]): boolean {
  const lost = bins.reduce((total, bin) => total + bin.lost - bin.overflowed, 0);
  const units = bins.reduce((total, bin) => total + bin.units, 0);
  return lost >= 5 && lost > 0.07 * (lost + units);
}

/** Two bins suffice if the queue clearly grew between them; three always do. */
export function isKnee(run: readonly ArrivalBin[]): boolean {
  const first = run[0];
  const last = run.at(-1);
  if (first === undefined || last === undefined || run.length < 2) return false;
  return run.length >= 3 || lastDelayNs(last) > first.minDelayNs + GROWTH_NS;
}

/** Bits per second of neighbouring bins. The first bin only marks the start time. */
export function rateOf(bins: readonly ArrivalBin[]): number {
  const first = bins[0]!;
  const last = bins.at(-1)!;
  const bits = bins.slice(1).reduce((total, bin) => total + bin.bytes * 8, 0);
  return (bits * 1e9) / Math.max(1, last.lastArrivalNs - first.lastArrivalNs);
}

/** Share of the last `spanNs` with a full link; null if less was observed. `bins` in arrival order. */
export function fullShare(bins: readonly ArrivalBin[], rules: EstimateRules, spanNs: number): number | null {
  const lastNs = bins.at(-1)?.lastArrivalNs ?? 0;
  let fullNs = 0;
  for (let i = bins.length - 1; i > 0; i--) {
    const bin = bins[i]!;
    const beforeNs = bins[i - 1]!.lastArrivalNs;
    if (isFull(bin, rules)) fullNs += bin.lastArrivalNs - beforeNs;
    if (lastNs - beforeNs >= spanNs) return fullNs / (lastNs - beforeNs);
  }
  return null;
}
