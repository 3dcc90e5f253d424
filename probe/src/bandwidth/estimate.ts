// What the arrivals of a burst say of the link. No I/O, no clock, no randomness.
//
// A shaper (or any serial link) that has packets waiting lets them go at its rate, whatever the sender does;
// one that has none waiting lets them through as they come, at line rate while its token bucket lasts. So
// only arrivals with a queue before them count: those whose delay is above the smallest one by more than
// noise. The part that fills the bucket has no such delay, at whatever size of the bucket, and neither has
// what comes after the sender stood still and the bucket filled again.
import { median } from "@isochrone/primitives";
import { lastDelayNs, type ArrivalBin } from "./arrivals.ts";

/** Shortest stretch that one rate is read from: above the jitter of stamps and timers. Nanoseconds. */
const WINDOW_NS = 8_000_000;
const WINDOW_UNITS = 12;
/** Windows whose rate is further from the median than this many deviations don't count for the rate. */
const CORE_DEVIATIONS = 3;
/**
 * Further from the rate than this, and by more units than this, is a window that the machine spoiled; unless
 * many are.
 */
const PLAUSIBLE_SHARE = 0.1;
const UNITS_OFF = 2.5;
/** Fewer tell too little of others: the first ones are of the moment at which the link filled up. */
const MIN_SHARE_WINDOWS = 6;
/** More than the link can carry isn't others' traffic. */
const MAX_SHARE = 1.5;
/** Scales a median absolute deviation to a standard deviation of normal noise. */
const MAD_TO_SIGMA = 1.4826;

export interface EstimateRules {
  /** Delay of an empty link, by the two clocks. */
  readonly baseDelayNs: number;
  /** Above base + this a unit has waited. */
  readonly toleranceNs: number;
  /** A policer drops instead of queueing: then loss says that the link is full, not delay. */
  readonly policed: boolean;
}

export interface LinkEstimate {
  /** Rate at which bytes left the full link. */
  readonly bitsPerSecond: number;
  /** Standard error of the rate, relative. */
  readonly relativeError: number;
  /**
   * Part of the link that other traffic took, 0 to 1, with its standard error. From how much more time equal
   * bytes took when they were sent slower: others' packets fill the room between. Null where the sender's
   * rate didn't change enough to tell, where the machine spoiled it, and of a policer.
   */
  readonly otherShare: { readonly value: number; readonly error: number } | null;
  /** Time for which the link was seen full. */
  readonly fullMs: number;
  readonly units: number;
}

interface Window {
  bits: number;
  units: number;
  arrivalNs: number;
  sendNs: number;
}

/**
 * Null: the link never was full for long enough to tell. `bins` hold bytes on the wire, in order of arrival.
 */
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

/** True when every unit of the bin had to wait, or the policer was dropping. */
export function isFull(bin: ArrivalBin, { baseDelayNs, toleranceNs, policed }: EstimateRules): boolean {
  return policed ? bin.lost > bin.overflowed : bin.minDelayNs > baseDelayNs + toleranceNs;
}

/**
 * Neighbouring full bins, joined to windows. A bin counts from the last arrival of the one before, so that
 * one must be full too.
 */
function fullWindows(bins: readonly ArrivalBin[], rules: EstimateRules): Window[] {
  const windows: Window[] = [];
  let open = emptyWindow();
  for (const [i, bin] of bins.entries()) {
    const before = bins[i - 1];
    const countable =
      before !== undefined && isFullAtEnd(before, rules) && (rules.policed || isFull(bin, rules));
    if (!countable) {
      // What is too short to be a window of its own is dropped: its edges would be most of it.
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

/** With a policer full windows are told by their losses as a whole: not every bin has one. */
function isFullAtEnd(bin: ArrivalBin, rules: EstimateRules): boolean {
  return rules.policed || lastDelayNs(bin) > rules.baseDelayNs + rules.toleranceNs;
}

/**
 * Mean over the windows near the median: the others are stalls of the machine, and what it made up for after
 * them.
 */
function rateOfCore(windows: readonly Window[]): number {
  const rates = windows.map(rateOf);
  const middle = median(rates)!;
  const deviation = MAD_TO_SIGMA * median(rates.map((rate) => Math.abs(rate - middle)))!;
  const bound = Math.max(CORE_DEVIATIONS * deviation, 0.002 * middle);
  const core = windows.filter((_, i) => Math.abs(rates[i]! - middle) <= bound);
  return sum(core, (window) => window.bits) / sum(core, (window) => window.arrivalNs);
}

/**
 * Whether a window may speak of certainty and of others. More than the core: where most windows are the same,
 * one packet of others' more or less must not look like a stall.
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
 * Least squares of arrivalNs = bits / capacity + share * sendNs over the windows: in a first-in-first-out
 * queue a window's arrivals take the time of its own bits, and of the bits that others sent meanwhile.
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
