// Decides from a few small packets whether a path is idle enough to test.
import { lastDelayNs, type ArrivalBin } from "./arrivals.ts";
import { median } from "@isochrone/primitives";

/** Delay variation up to this comes from the hosts, not from a queue. Milliseconds. */
const QUIET_MS = 0.2;
/** Longer paths vary more: additional tolerance as a share of the round-trip time. */
const QUIET_SHARE = 0.05;
const MAX_LOST = 1;
const MIN_LIGHT_BINS = 8;

interface Quiet {
  /** Null: idle. Otherwise the reason. */
  readonly busy: string | null;
  /** Delay of an empty link, between the two unsynchronized clocks. */
  readonly baseDelayNs: number;
  /** 90th percentile of the small packets' delay above the base. */
  readonly noiseNs: number;
}

export function judgeQuiet(bins: readonly ArrivalBin[], sent: number, roundTripMs: number): Quiet {
  if (bins.length === 0) throw new RangeError("quiet check needs at least one arrival, got none");
  const baseDelayNs = Math.min(...bins.map((bin) => bin.minDelayNs));
  const excess = excessOf(bins, baseDelayNs).sort((a, b) => a - b);
  const noiseNs = excess[Math.min(excess.length - 1, Math.floor(0.9 * excess.length))]!;
  const arrived = bins.reduce((total, bin) => total + bin.units, 0);
  const lost = sent - arrived;
  const medianMs = median(excess)! / 1e6;
  const busy = lost > MAX_LOST ? `${lost} of ${sent} small packets got lost` : varying(medianMs, roundTripMs);
  return { busy, baseDelayNs, noiseNs };
}

/** Describes why units queued although sent far below link rate. Null: they did not, or too few arrived. */
export function judgeLight(
  bins: readonly ArrivalBin[],
  baseDelayNs: number,
  roundTripMs: number,
): string | null {
  if (bins.length < MIN_LIGHT_BINS) return null;
  return varying(median(excessOf(bins, baseDelayNs))! / 1e6, roundTripMs);
}

function excessOf(bins: readonly ArrivalBin[], baseDelayNs: number): number[] {
  return bins.map((bin) => lastDelayNs(bin) - baseDelayNs);
}

function varying(medianMs: number, roundTripMs: number): string | null {
  const boundMs = Math.max(QUIET_MS, QUIET_SHARE * roundTripMs);
  if (medianMs <= boundMs) return null;
  return `delays vary by ${medianMs.toFixed(2)} ms, at most ${boundMs.toFixed(2)} ms is quiet`;
}
