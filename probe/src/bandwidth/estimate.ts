// Estimates the link from a burst's arrivals. No I/O, clock or randomness. A shaper (or any serial link) with
// queued packets releases them at its own rate, whatever the sender does. Without a queue it passes them at
// line rate while its token bucket lasts. So only arrivals behind a queue count: their delay exceeds the
// smallest one by more than noise. Packets that drain the bucket have no such delay, whatever the bucket's
// size, and neither have packets after a sender stall that let the bucket refill.
import { median } from "@isochrone/primitives";
import { lastDelayNs, type ArrivalBin } from "./arrivals.ts";

/** Shortest span that yields one rate: above the jitter of stamps and timers. Nanoseconds. */
const WINDOW_NS = 8_000_000;
const WINDOW_UNITS = 12;
const CORE_DEVIATIONS = 3;
/** A window that deviates by more than this and UNITS_OFF units was spoiled by the host, unless many do. */
const PLAUSIBLE_SHARE = 0.1;
const UNITS_OFF = 2.5;
/** With fewer windows, other traffic is unknown: the first ones cover the moment the link filled up. */
const MIN_SHARE_WINDOWS = 6;
const MAX_SHARE = 1.5;
const MAD_TO_SIGMA = 1.4826;

export interface EstimateRules {
  /** Delay of an empty link, between the two unsynchronized clocks. */
  readonly baseDelayNs: number;
  readonly toleranceNs: number;
  /** A policer drops instead of queueing, so loss indicates a full link, not delay. */
  readonly policed: boolean;
}

export interface LinkEstimate {
  readonly bitsPerSecond: number;
  readonly relativeError: number;
  /**
   * Share of the link used by other traffic, 0 to 1, with its standard error. Derived from how much longer
   * equal bytes took at lower sending rates: other packets fill the gaps. Null if the sender's rate changed
   * too little, if the host stalled, and for a policer.
   */
  readonly otherShare: { readonly value: number; readonly error: number } | null;
  readonly fullMs: number;
  readonly units: number;
}

interface Window {
  bits: number;
  units: number;
  arrivalNs: number;
  sendNs: number;
}

/** Null if the link was never full for long enough. `bins`: bytes on the wire, in arrival order. */
export function estimateLink(bins: readonly ArrivalBin[], rules: EstimateRules): LinkEstimate | null {
  const all = fullWindows(bins, rules);
  if (all.length === 0) return null;
  const rate = rateOfCore(all);
  const plausible = all.filter((window) => isPlausible(window, rate));
  const kept = plausible.length * 3 >= all.length * 2 ? plausible : all;
  return {
    bitsPerSecond: rate * 1e9,
    relativeError: relativeError(kept, rate),
    otherShare: rules.policed ? null : otherShare(kept),
    fullMs: sum(all, (window) => window.arrivalNs) / 1e6,
    units: sum(all, (window) => window.units),
  };
}

export function isFull(bin: ArrivalBin, { baseDelayNs, toleranceNs, policed }: EstimateRules): boolean {
  return policed ? bin.lost > bin.overflowed : bin.minDelayNs > baseDelayNs + toleranceNs;
}

/** Joins full bins to windows. A bin counts from the previous bin's last arrival, which must be full too. */
function fullWindows(bins: readonly ArrivalBin[], rules: EstimateRules): Window[] {
  const windows: Window[] = [];
  let open = emptyWindow();
  for (const [i, bin] of bins.entries()) {
    const before = bins[i - 1];
    const countable =
      before !== undefined && isFullAtEnd(before, rules) && (rules.policed || isFull(bin, rules));
    if (!countable) {
      // Drops windows that are too short: their edges would dominate.
      open = emptyWindow();
      continue;
    }
    const carried = bin.units + bin.overflowed;
    open.bits += (bin.bytes / bin.units) * carried * 8;
    open.units += carried;
    open.arrivalNs += bin.lastArrivalNs - before.lastArrivalNs;
    open.sendNs += bin.lastSendNs - before.lastSendNs;
    if (open.arrivalNs < WINDOW_NS || open.units < WINDOW_UNITS) continue;
    windows.push(open);
    open = emptyWindow();
  }
  return windows;
}

/** A policer's full windows are judged by their total losses: not every bin has one. */
function isFullAtEnd(bin: ArrivalBin, rules: EstimateRules): boolean {
  return rules.policed || lastDelayNs(bin) > rules.baseDelayNs + rules.toleranceNs;
}

/** Mean over the windows near the median; the others are host stalls and the catch-up after them. */
function rateOfCore(windows: readonly Window[]): number {
  const rates = windows.map(rateOf);
  const middle = median(rates)!;
  const deviation = MAD_TO_SIGMA * median(rates.map((rate) => Math.abs(rate - middle)))!;
  const bound = Math.max(CORE_DEVIATIONS * deviation, 0.002 * middle);
  const core = windows.filter((_, i) => Math.abs(rates[i]! - middle) <= bound);
  return sum(core, (window) => window.bits) / sum(core, (window) => window.arrivalNs);
}

/**
 * Whether a window counts for the error and for other traffic. Wider than the core: if most windows are
 * equal, one packet more or less is not a stall.
 */
function isPlausible(window: Window, rate: number): boolean {
  return Math.abs(rateOf(window) / rate - 1) <= Math.max(PLAUSIBLE_SHARE, UNITS_OFF / window.units);
}

function relativeError(windows: readonly Window[], rate: number): number {
  if (windows.length < 2) return 1;
  const squares = sum(windows, (window) => (rateOf(window) / rate - 1) ** 2);
  return Math.sqrt(squares / (windows.length - 1) / windows.length);
}

/**
 * Least squares of arrivalNs = bits / capacity + share * sendNs over the windows. In a FIFO queue a window's
 * arrivals take the time of its own bits plus the bits that others sent meanwhile.
 */
function otherShare(windows: readonly Window[]): LinkEstimate["otherShare"] {
  if (windows.length < MIN_SHARE_WINDOWS) return null;
  const bb = sum(windows, (w) => w.bits * w.bits);
  const ss = sum(windows, (w) => w.sendNs * w.sendNs);
  const bs = sum(windows, (w) => w.bits * w.sendNs);
  const ba = sum(windows, (w) => w.bits * w.arrivalNs);
  const sa = sum(windows, (w) => w.sendNs * w.arrivalNs);
  const determinant = bb * ss - bs * bs;
  if (!(determinant > 1e-9 * bb * ss)) return null;
  const perBit = (ba * ss - sa * bs) / determinant;
  const value = (sa * bb - ba * bs) / determinant;
  const residual = sum(windows, (w) => (w.arrivalNs - perBit * w.bits - value * w.sendNs) ** 2);
  const variance = residual / (windows.length - 2);
  return value > MAX_SHARE ? null : { value, error: Math.sqrt((variance * bb) / determinant) };
}

function emptyWindow(): Window {
  return { bits: 0, units: 0, arrivalNs: 0, sendNs: 0 };
}

const rateOf = (window: Window): number => window.bits / window.arrivalNs;

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
