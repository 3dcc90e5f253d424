// Baselines of many series, and departures from them. Pure: times are arguments.
import { upperMedian } from "@isochrone/primitives";

interface BaselineRule {
  readonly floor: number;
  readonly ratio: number;
  /** A departure ends when the value was back for this long, ms. */
  readonly releaseMs: number;
}

/** One value of each series, in columns; NaN: the series has none. */
export interface Readings {
  readonly size: number;
  readonly values: Float32Array;
  readonly lows: Float32Array;
  readonly highs: Float32Array;
  /** When each value began, ms; NaN: not known. */
  readonly sinceMs: Float64Array;
}

export interface Departure {
  readonly series: number;
  readonly sinceMs: number;
  readonly value: number;
  readonly error: number;
  readonly before: number;
  readonly acceptedAtMs: number;
}

/** The median series increased by the rule's floor: one cause raises most of them at once. */
export interface CommonDeparture {
  readonly sinceMs: number;
  /** Number of series above their baseline; `all` is the number of series with a baseline. */
  readonly series: number;
  readonly all: number;
}

/** Time constant of a baseline, ms. */
const MEMORY_MS = 1_800_000;
/** A baseline is known after this much observation, ms. */
const READY_MS = 60_000;
/** A value departs when it was above its threshold for this long, ms, and in two readings. */
const HOLD_MS = 8_000;
const ACCEPT_MS = 3_600_000;
/** A value below half of the baseline becomes the baseline after this time, ms: it needs no attention. */
const LOWER_MS = 120_000;
/** A departure ends after this time without a reading, ms: other checks report that nothing answers. */
const SILENT_MS = 20_000;
/** The most that one pair of readings may be apart, ms: clocks jump. */
const MAX_STEP_MS = 30_000;
/** An increase of up to this many mean deviations from the baseline is noise. */
const NOISE_SPREADS = 6;
/** Maximum threshold from noise, as a multiple of the baseline. */
const MAX_NOISE_RATIO = 3;
/** Factor at which a baseline follows lower values faster, because load only adds latency. */
const DOWN_WEIGHT = 4;
/** Fewest series for which a common departure means anything. */
const FEWEST_COMMON = 4;
/** A series departs alone only if its increase is above this multiple of the median one. */
const ALONE_FACTOR = 4;
const MEDIAN_SAMPLE = 4096;
const BACK_SHARE = 0.5;

/** Baselines of numbered series in flat arrays. Memory grows with the largest number. */
export class Baselines {
  readonly #rule: BaselineRule;
  #before = new Float32Array(0);
  #spread = new Float32Array(0);
  #learned = new Float32Array(0);
  /** Time above the threshold, ms. A negative value is the time below half of the baseline. */
  #above = new Float32Array(0);
  /** Time above the threshold, ms, without the time of a common departure. */
  #held = new Float32Array(0);
  #began = new Float64Array(0);
  readonly #departed = new Map<number, OpenDeparture>();
  readonly #common: CommonState = {
    sinceMs: 0,
    heldMs: 0,
    backMs: 0,
    isOpen: false,
    aloneFrom: 0,
    series: 0,
    all: 0,
  };
  #lastMs: number | null = null;

  constructor(rule: BaselineRule) {
    this.#rule = rule;
  }

  forget(series: number): void {
    if (series >= this.#before.length) return;
    for (const column of [this.#before, this.#spread, this.#learned, this.#above, this.#held])
      column[series] = 0;
    this.#departed.delete(series);
  }

  observe(readings: Readings, nowMs: number): void {
    const stepMs = this.#lastMs === null ? 0 : Math.min(MAX_STEP_MS, Math.max(0, nowMs - this.#lastMs));
    this.#lastMs = nowMs;
    this.#reserve(readings.size);
    this.#followCommon(readings, nowMs, stepMs);
    for (let at = 0; at < readings.size; at++) {
      const value = readings.values[at]!;
      if (Number.isNaN(value)) continue;
      const open = this.#departed.get(at);
      if (open === undefined) this.#follow(at, readings, nowMs, stepMs);
      else this.#followDeparted(at, open, readings, nowMs, stepMs);
    }
    for (const [series, open] of this.#departed) {
      if (!(series < readings.size) || Number.isNaN(readings.values[series]!)) open.silentMs += stepMs;
      if (open.silentMs >= SILENT_MS) this.#close(series);
    }
  }

  common(): CommonDeparture | null {
    const { isOpen, sinceMs, series, all } = this.#common;
    return isOpen ? { sinceMs, series, all } : null;
  }

  departures(): Departure[] {
    const all = Array.from(this.#departed, ([series, { sinceMs, value, error, acceptedAtMs }]) => {
      const before = this.#before[series]!;
      return { series, sinceMs, value, error, before, acceptedAtMs };
    });
    return all
      .filter(({ value, before }) => this.#isAlone(value - before))
      .sort((a, b) => b.value - b.before - (a.value - a.before) || a.series - b.series);
  }

  #isAlone(increase: number): boolean {
    return increase > this.#common.aloneFrom;
  }

  #reserve(size: number): void {
    if (size <= this.#before.length) return;
    const length = Math.max(size, 2 * this.#before.length);
    this.#before = grown(this.#before, new Float32Array(length));
    this.#spread = grown(this.#spread, new Float32Array(length));
    this.#learned = grown(this.#learned, new Float32Array(length));
    this.#above = grown(this.#above, new Float32Array(length));
    this.#held = grown(this.#held, new Float32Array(length));
    this.#began = grown(this.#began, new Float64Array(length));
  }

  #margin(series: number): number {
    const { floor, ratio } = this.#rule;
    const before = this.#before[series]!;
    const noise = Math.min(NOISE_SPREADS * this.#spread[series]!, MAX_NOISE_RATIO * before + floor);
    return Math.max(floor, ratio * before, noise);
  }

  #isAbove(at: number, low: number): boolean {
    return this.#learned[at]! >= READY_MS && low > this.#before[at]! + this.#margin(at);
  }

  #followCommon({ size, values, lows, sinceMs }: Readings, nowMs: number, stepMs: number): void {
    let [all, above, began] = [0, 0, nowMs];
    for (let at = 0; at < size; at++) {
      if (Number.isNaN(values[at]!) || this.#learned[at]! < READY_MS) continue;
      all++;
      if (!this.#isAbove(at, lows[at]!)) continue;
      above++;
      if (sinceMs[at]! < began) began = sinceMs[at]!;
    }
    const common = this.#common;
    const median = this.#medianIncrease({ size, values });
    // Below half of the floor the median is noise.
    const isRise = all >= FEWEST_COMMON && median >= this.#rule.floor / 2;
    common.aloneFrom = isRise ? ALONE_FACTOR * median : 0;
    const isCommon = common.aloneFrom > 0 && median >= this.#rule.floor && above > all / 4;
    const isBack = above <= all / 8 || median < this.#rule.floor / 2;
    this.#stepCommon({ isCommon, isBack, began, nowMs, stepMs });
    [common.series, common.all] = [above, all];
  }

  #stepCommon(now: {
    readonly isCommon: boolean;
    readonly isBack: boolean;
    readonly began: number;
    readonly nowMs: number;
    readonly stepMs: number;
  }): void {
    const common = this.#common;
    const { isCommon, isBack, began, nowMs, stepMs } = now;
    if (common.isOpen) {
      common.sinceMs = Math.min(common.sinceMs, nowMs);
      common.backMs = isBack ? common.backMs + stepMs : 0;
      if (common.backMs >= this.#rule.releaseMs) [common.isOpen, common.heldMs] = [false, 0];
    } else if (!isCommon) common.heldMs = 0;
    else if (common.heldMs === 0) [common.sinceMs, common.heldMs, common.backMs] = [began, 1, 0];
    else {
      common.heldMs += stepMs;
      common.isOpen = common.heldMs >= HOLD_MS;
    }
  }

  #medianIncrease({ size, values }: Pick<Readings, "size" | "values">): number {
    const stride = Math.max(1, Math.floor(size / MEDIAN_SAMPLE));
    const increases: number[] = [];
    for (let at = 0; at < size; at += stride)
      if (this.#learned[at]! >= READY_MS && !Number.isNaN(values[at]!))
        increases.push(values[at]! - this.#before[at]!);
    increases.sort((a, b) => a - b);
    return Math.max(0, upperMedian(increases) ?? 0);
  }

  #follow(at: number, readings: Readings, nowMs: number, stepMs: number): void {
    const [value, low, high] = [readings.values[at]!, readings.lows[at]!, readings.highs[at]!];
    if (!this.#isAbove(at, low)) {
      if (this.#above[at]! > 0) this.#above[at] = 0;
      this.#held[at] = 0;
      this.#learn(at, value, high, stepMs);
      return;
    }
    if (!(this.#above[at]! > 0)) {
      const since = readings.sinceMs[at]!;
      this.#began[at] = Number.isNaN(since) ? nowMs : Math.min(since, nowMs);
      this.#above[at] = 1;
      this.#held[at] = 0;
      return;
    }
    this.#above[at]! += stepMs;
    this.#held[at] = this.#isAlone(value - this.#before[at]!) ? this.#held[at]! + stepMs : 0;
    if (this.#above[at]! >= ACCEPT_MS) this.#rebase(at, value);
    else if (this.#held[at] >= HOLD_MS) {
      const sinceMs = Math.min(this.#began[at]!, nowMs);
      const open = { sinceMs, value, error: 0, acceptedAtMs: 0, backMs: 0, silentMs: 0 };
      this.#departed.set(at, open);
      this.#note(at, open, readings, nowMs);
    }
  }

  #followDeparted(at: number, open: OpenDeparture, readings: Readings, nowMs: number, stepMs: number): void {
    const value = readings.values[at]!;
    open.silentMs = 0;
    // A clock set back would leave the start in the future.
    open.sinceMs = Math.min(open.sinceMs, nowMs);
    this.#above[at]! += stepMs;
    const isBack = value <= this.#before[at]! + BACK_SHARE * this.#margin(at);
    open.backMs = isBack ? open.backMs + stepMs : 0;
    if (!isBack) this.#note(at, open, readings, nowMs);
    if (open.backMs >= this.#rule.releaseMs) this.#close(at);
    else if (this.#above[at]! >= ACCEPT_MS) {
      this.#close(at);
      this.#rebase(at, value);
    }
  }

  #note(at: number, open: OpenDeparture, { values, lows, highs }: Readings, nowMs: number): void {
    open.value = values[at]!;
    open.error = Math.max(values[at]! - lows[at]!, highs[at]! - values[at]!);
    open.acceptedAtMs = nowMs + Math.max(0, ACCEPT_MS - this.#above[at]!);
  }

  #close(series: number): void {
    this.#departed.delete(series);
    this.#above[series] = this.#held[series] = 0;
  }

  #rebase(at: number, value: number): void {
    this.#before[at] = value;
    this.#spread[at] = 0;
    this.#learned[at] = READY_MS;
    this.#above[at] = this.#held[at] = 0;
  }

  /** Updates the baseline with a normal value: an average at first, then slow smoothing. */
  #learn(at: number, value: number, high: number, stepMs: number): void {
    const before = this.#before[at]!;
    if (this.#learned[at] === 0) {
      this.#before[at] = value;
      this.#learned[at] = Math.max(1, stepMs);
      return;
    }
    if (high < before / 2 && before > this.#rule.floor) {
      this.#above[at]! -= stepMs;
      if (this.#above[at]! <= -LOWER_MS) this.#rebase(at, value);
    } else this.#above[at] = 0;
    this.#learned[at] = Math.min(MEMORY_MS, this.#learned[at]! + stepMs);
    const gain = Math.min(1, stepMs / this.#learned[at]);
    const deviation = value - this.#before[at]!;
    const weight = deviation < 0 ? DOWN_WEIGHT : 1;
    this.#before[at]! += Math.min(1, gain * weight) * deviation;
    this.#spread[at]! += gain * (Math.abs(deviation) - this.#spread[at]!);
  }
}

interface OpenDeparture {
  sinceMs: number;
  value: number;
  error: number;
  acceptedAtMs: number;
  /** Time for which the value is back, and time without a reading, ms. */
  backMs: number;
  silentMs: number;
}

interface CommonState {
  sinceMs: number;
  /** Time for which the departure is common, and time for which the series are back, ms. */
  heldMs: number;
  backMs: number;
  isOpen: boolean;
  aloneFrom: number;
  series: number;
  all: number;
}

function grown<T extends Float32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
