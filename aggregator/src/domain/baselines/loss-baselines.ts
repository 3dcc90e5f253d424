// Baselines of pairs' loss ratios, and departures from them. Pure: times are arguments.
import { upperMedian } from "@isochrone/primitives";
import type { CommonDeparture, Departure } from "./baselines.ts";

export interface PairPackets {
  readonly size: number;
  /** Negative if late answers revoke more losses than occurred. */
  readonly failed: Float64Array;
  readonly received: Float64Array;
  /** 1: the pair is cut or has just recovered. Its packets do not count towards a loss ratio. */
  readonly cuts: Uint8Array;
}

/** The loss ratio to detect: its minimum, and its minimum as a multiple of the baseline. */
const SOUGHT_RATIO = 0.04;
const SOUGHT_FACTOR = 3;
/** Minimum baseline, so that the second loss in an hour is no change. */
const LEAST_RATIO = 0.0005;
const READY_PACKETS = 200;
/** Weight of the prior, which is the mean of all baselines, in packets. */
const PRIOR_PACKETS = 500;
/** Number of packets at which a baseline forgets half, so that it follows the newest ones. */
const MEMORY_PACKETS = 20_000;
/** Log-likelihood ratio of a departure: one false one in 14 hours at 14,400 packets per hour. */
const DEPART_SCORE = 9;
/** A pair departs after this time above the score, ms, because late answers revoke losses. */
const HOLD_MS = 3_000;
/** Losses within this time count once, ms: a starved machine loses several at once. */
const BURST_MS = 2_000;
const END_SCORE = Math.log(300);
/** Log-likelihood ratio at which a baseline is lowered. Too low a baseline departs falsely. */
const LOWER_SCORE = 16;
const ACCEPT_MS = 3_600_000;
/** A departure ends after this time without packets or with a cut, ms: other checks report that. */
const SILENT_MS = 60_000;
/** Averaging time of the reported ratio, ms. */
const RECENT_MS = 60_000;
/** Maximum step between observations, ms: clocks jump. */
const MAX_STEP_MS = 30_000;
const FEWEST_COMMON = 4;
/** During a common departure, a pair departs alone above this multiple of the median increase. */
const ALONE_FACTOR = 4;
/** One-sided normal quantile of the reported error: 99 %. */
const ERROR_DEVIATIONS = 2.33;

/**
 * Tests each pair for a loss ratio above its baseline with a sequential test (Page's CUSUM, 1954). The test
 * has no window: evidence accumulates until it suffices. The baseline learns packets only after the test has
 * cleared them, so a change cannot shift it.
 */
export class LossBaselines {
  #failed = new Float32Array(0);
  #all = new Float32Array(0);
  #lower = new Float32Array(0);
  readonly #suspects = new Map<number, Suspect>();
  #common: CommonDeparture | null = null;
  #medianIncrease = 0;
  #mean = 0;
  #lastMs: number | null = null;

  forget(pair: number): void {
    if (pair >= this.#all.length) return;
    for (const column of [this.#failed, this.#all, this.#lower]) column[pair] = 0;
    this.#suspects.delete(pair);
  }

  observe({ size, failed, received, cuts }: PairPackets, nowMs: number): void {
    const stepMs = this.#lastMs === null ? 0 : Math.min(MAX_STEP_MS, Math.max(0, nowMs - this.#lastMs));
    this.#lastMs = nowMs;
    this.#reserve(size);
    const ready = this.#countReady(size);
    const threshold = DEPART_SCORE + Math.log(Math.max(1, ready));
    for (const [pair, suspect] of this.#suspects) {
      suspect.sinceMs = Math.min(suspect.sinceMs, nowMs);
      suspect.elapsedMs += stepMs;
      suspect.silentMs += stepMs;
      if (suspect.silentMs >= SILENT_MS) this.#suspects.delete(pair);
    }
    for (let pair = 0; pair < size; pair++) {
      const [lost, answered] = [failed[pair]!, received[pair]!];
      if (cuts[pair] === 1) this.#clear(pair);
      else if (lost !== 0 || answered > 0) this.#test(pair, lost, answered, threshold, nowMs);
    }
    this.#findCommon(ready);
  }

  common(): CommonDeparture | null {
    return this.#common;
  }

  departures(): Departure[] {
    return this.#departed()
      .filter(({ value, before }) => value - before > ALONE_FACTOR * this.#medianIncrease)
      .sort((a, b) => b.value - b.before - (a.value - a.before) || a.series - b.series);
  }

  #departed(): Departure[] {
    return Array.from(this.#suspects).flatMap(([series, suspect]) => {
      if (!suspect.isDeparted) return [];
      const { sinceMs, recent } = suspect;
      const acceptedAtMs = (this.#lastMs ?? sinceMs) + Math.max(0, ACCEPT_MS - suspect.departedMs);
      const value = ratioOf(recent);
      return [{ series, sinceMs, value, error: errorOf(recent), before: this.#before(series), acceptedAtMs }];
    });
  }

  #before(pair: number): number {
    return this.#all[pair] === 0 ? 0 : this.#failed[pair]! / this.#all[pair]!;
  }

  /** Normal ratio used by the test; biased upwards for few packets. The mean of all pairs is the prior. */
  #usual(pair: number): number {
    const [failed, all] = [this.#failed[pair]!, this.#all[pair]!];
    const shared = (failed + 1 + PRIOR_PACKETS * this.#mean) / (all + PRIOR_PACKETS);
    return Math.max(LEAST_RATIO, shared, (failed + Math.sqrt(failed)) / Math.max(1, all));
  }

  #test(pair: number, lost: number, answered: number, threshold: number, nowMs: number): void {
    const usual = this.#usual(pair);
    const sought = Math.max(SOUGHT_RATIO, SOUGHT_FACTOR * usual);
    const known = this.#suspects.get(pair);
    if (known === undefined && (lost <= 0 || this.#all[pair]! < READY_PACKETS || sought >= 1)) {
      this.#learn(pair, lost, answered);
      return;
    }
    const suspect = known ?? suspectSince(nowMs);
    if (known === undefined) this.#suspects.set(pair, suspect);
    const { elapsedMs } = suspect;
    suspect.elapsedMs = suspect.silentMs = 0;
    add(suspect.recent, lost, answered, Math.exp(-elapsedMs / RECENT_MS));
    add(suspect.total, lost, answered, 1);
    if (suspect.isDeparted) {
      this.#testEnd(pair, suspect, lost, answered, elapsedMs);
      return;
    }
    const counted = Math.min(lost, Math.max(1, Math.floor(elapsedMs / BURST_MS)));
    suspect.score += logRatio(sought, usual, counted, answered);
    if (suspect.score <= 0) {
      this.#suspects.delete(pair);
      this.#learn(pair, suspect.total.failed, suspect.total.all - suspect.total.failed);
    } else if (suspect.score < threshold) suspect.heldMs = null;
    else {
      suspect.heldMs = suspect.heldMs === null ? 0 : suspect.heldMs + elapsedMs;
      suspect.isDeparted = suspect.heldMs >= HOLD_MS && ratioOf(suspect.total) > 2 * usual;
    }
  }

  /** Ends a departure when its newest packets fit the baseline far better than half of its ratio. */
  #testEnd(pair: number, suspect: Suspect, lost: number, answered: number, elapsedMs: number): void {
    const usual = this.#usual(pair);
    const departed = Math.min(0.9, Math.max(1.5 * usual, SOUGHT_RATIO / 2, ratioOf(suspect.total) / 2));
    suspect.endScore = Math.max(0, suspect.endScore + logRatio(usual, departed, lost, answered));
    suspect.departedMs += elapsedMs;
    if (suspect.endScore >= END_SCORE) this.#suspects.delete(pair);
    else if (suspect.departedMs >= ACCEPT_MS) {
      this.#suspects.delete(pair);
      [this.#failed[pair], this.#all[pair]] = [0, 0];
      this.#learn(pair, suspect.total.failed, suspect.total.all - suspect.total.failed);
    }
  }

  /** Losses of a cut do not count. A departure may outlive a short cut. */
  #clear(pair: number): void {
    if (this.#suspects.get(pair)?.isDeparted === false) this.#suspects.delete(pair);
  }

  #learn(pair: number, lost: number, answered: number): void {
    const usual = this.#usual(pair);
    if (usual >= SOUGHT_RATIO / 3) {
      const score = Math.max(0, this.#lower[pair]! + logRatio(usual / 4, usual, lost, answered));
      const isLower = score >= LOWER_SCORE;
      if (isLower) this.#failed[pair]! /= 4;
      this.#lower[pair] = isLower ? 0 : score;
    }
    this.#failed[pair] = Math.max(0, this.#failed[pair]! + lost);
    this.#all[pair]! += Math.max(0, lost + answered);
    while (this.#all[pair]! > MEMORY_PACKETS) {
      this.#failed[pair] /= 2;
      this.#all[pair]! /= 2;
    }
  }

  /** A common cause makes most pairs lose packets at once. */
  #findCommon(ready: number): void {
    const departed = this.#departed();
    const isCommon = ready >= FEWEST_COMMON && departed.length > ready / 2;
    if (!isCommon) {
      [this.#common, this.#medianIncrease] = [null, 0];
      return;
    }
    const increases = departed.map(({ value, before }) => value - before);
    while (increases.length < ready) increases.push(0);
    this.#medianIncrease = upperMedian(increases.sort((a, b) => a - b)) ?? 0;
    const sinceMs = Math.min(...departed.map((one) => one.sinceMs));
    this.#common = { sinceMs, series: departed.length, all: ready };
  }

  #countReady(size: number): number {
    let [ready, failed, all] = [0, 0, 0];
    for (let pair = 0; pair < size; pair++) {
      if (this.#all[pair]! >= READY_PACKETS) ready++;
      failed += this.#failed[pair]!;
      all += this.#all[pair]!;
    }
    this.#mean = all === 0 ? 0 : failed / all;
    return ready;
  }

  #reserve(size: number): void {
    if (size <= this.#all.length) return;
    const length = Math.max(size, 2 * this.#all.length);
    const grown = (from: Float32Array): Float32Array<ArrayBuffer> => {
      const to = new Float32Array(length);
      to.set(from);
      return to;
    };
    [this.#failed, this.#all, this.#lower] = [grown(this.#failed), grown(this.#all), grown(this.#lower)];
  }
}

interface Packets {
  failed: number;
  all: number;
}

interface Suspect {
  sinceMs: number;
  isDeparted: boolean;
  score: number;
  endScore: number;
  /** Time above the departure score, ms; null: below it. */
  heldMs: number | null;
  departedMs: number;
  elapsedMs: number;
  silentMs: number;
  readonly recent: Packets;
  readonly total: Packets;
}

function suspectSince(sinceMs: number): Suspect {
  return {
    sinceMs,
    isDeparted: false,
    score: 0,
    endScore: 0,
    heldMs: null,
    departedMs: 0,
    elapsedMs: 0,
    silentMs: 0,
    recent: { failed: 0, all: 0 },
    total: { failed: 0, all: 0 },
  };
}

function add(packets: Packets, lost: number, answered: number, keep: number): void {
  packets.failed = Math.max(0, packets.failed * keep + lost);
  packets.all = packets.all * keep + Math.max(0, lost + answered);
}

function ratioOf({ failed, all }: Packets): number {
  return all === 0 ? 0 : failed / all;
}

function logRatio(ratio: number, other: number, lost: number, answered: number): number {
  return lost * Math.log(ratio / other) + answered * Math.log((1 - ratio) / (1 - other));
}

/** Half-width of the Wilson (1927) interval, which is valid for few samples. */
function errorOf(packets: Packets): number {
  const { all } = packets;
  if (all === 0) return 1;
  const ratio = ratioOf(packets);
  const z2 = ERROR_DEVIATIONS ** 2 / all;
  const middle = (ratio + z2 / 2) / (1 + z2);
  const half = Math.sqrt(z2 * (ratio * (1 - ratio) + z2 / 4)) / (1 + z2);
  return half + Math.abs(middle - ratio);
}
