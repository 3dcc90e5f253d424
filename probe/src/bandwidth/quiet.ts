// Whether a way is quiet enough to be tested, told from a few small packets before anything else is sent.
import { lastDelayNs, type ArrivalBin } from "./arrivals.ts";
import { median } from "@isochrone/primitives";

/** Delays that vary by less are the hosts', not a queue's. Milliseconds. */
const QUIET_MS = 0.2;
/** Long ways vary more: part of the round-trip time that is let pass too. */
const QUIET_SHARE = 0.05;
/** One small packet may get lost on a quiet way. */
const MAX_LOST = 1;
const MIN_LIGHT_BINS = 8;

interface Quiet {
  /** Null: quiet. Else what speaks against it. */
  readonly busy: string | null;
  /** Delay of an empty link, by the two clocks. */
  readonly baseDelayNs: number;
  /** What the delay of nine in ten small packets stayed below, over the base. */
  readonly noiseNs: number;
}

/** `sent`: how many small packets left. @throws RangeError when nothing came. */
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

/**
 * Whether units that left far below the rate of the link waited nevertheless. Null: they didn't, or too few
 * came to tell.
 */
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
