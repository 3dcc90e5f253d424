/** What a cumulative counter grew by between two times. */
export interface Increment {
  readonly fromMs: number;
  readonly toMs: number;
  /** Never negative; 0 says that nothing happened, which is information too. */
  readonly delta: number;
  /** The counter began anew since the last sample. */
  readonly reset: boolean;
}

/** @see CounterTrack */
export interface CounterTrackOptions {
  /**
   * A first sample whose known start lies further back than this is only a baseline, not an increment since its start.
   * @default Infinity
   */
  readonly maxFirstSpanMs?: number;
}

/**
 * Turns the samples of one cumulative series into increments. A restart is seen by a changed start time or by a decrease;
 * then the whole new value counts, from the new start if that is known and after the last sample, else from the last sample.
 */
export class CounterTrack {
  readonly #maxFirstSpanMs: number;
  #startMs = 0;
  /** A start that lay after the newest sample that came with it: what it began is counted already, if the value fell. */
  #earlyStartMs = 0;
  /** 0: no sample yet. */
  #timeMs = 0;
  #value = 0;

  constructor(options: CounterTrackOptions = {}) {
    this.#maxFirstSpanMs = options.maxFirstSpanMs ?? Infinity;
  }

  /**
   * Takes a sample. Null when it gives no increment: the first one without a known start (or with its own time as start,
   * which is how a Prometheus receiver marks a counter of unknown age), a repeated or older one, or no sane number.
   * @param startMs when the counter began; 0 where unknown. A start after the sample counts as unknown.
   */
  observe(startMs: number, timeMs: number, value: number): Increment | null {
    if (!(timeMs > this.#timeMs && Number.isFinite(timeMs) && value >= 0 && Number.isFinite(value)))
      return null;
    const knownStartMs = startMs > 0 && startMs <= timeMs ? startMs : 0;
    const increment =
      this.#timeMs === 0 ? this.#first(knownStartMs, timeMs, value) : this.#next(knownStartMs, timeMs, value);
    // A sample without a start doesn't make us forget the one that we know, unless the counter began anew.
    if (knownStartMs > 0 || increment?.reset === true) this.#startMs = knownStartMs;
    if (startMs > timeMs) this.#earlyStartMs = startMs;
    this.#timeMs = timeMs;
    this.#value = value;
    return increment;
  }

  #first(startMs: number, timeMs: number, value: number): Increment | null {
    if (startMs === 0 || startMs === timeMs || timeMs - startMs > this.#maxFirstSpanMs) return null;
    return { fromMs: startMs, toMs: timeMs, delta: value, reset: false };
  }

  #next(startMs: number, timeMs: number, value: number): Increment {
    // A start that was not known before is a new one if it lies after what was already counted.
    const restarted =
      startMs > 0 &&
      startMs !== this.#startMs &&
      startMs !== this.#earlyStartMs &&
      (this.#startMs > 0 || startMs >= this.#timeMs);
    if (!restarted && value >= this.#value) {
      return { fromMs: this.#timeMs, toMs: timeMs, delta: value - this.#value, reset: false };
    }
    const fromMs = startMs > this.#timeMs && startMs < timeMs ? startMs : this.#timeMs;
    return { fromMs, toMs: timeMs, delta: value, reset: true };
  }
}

/** What increments are shared among: an object and not a function, because there is one for each of a hundred thousand counters. */
export interface PaneSums {
  add(paneStartMs: number, part: number): void;
}

/** An increment over a longer time than this many panes only reaches the newest ones: no window is longer. */
const MAX_PANES = 1_024;

/**
 * Shares an increment among the panes that [fromMs, toMs] covers, in proportion to the time in each, oldest first.
 * Panes more than 1,023 before the last get no call (their share is not moved to the others), so that a counter which
 * claims to be as old as the epoch costs no more than a young one. Increments of no length go to the pane of `toMs`.
 */
export function spreadOverPanes(increment: Increment, paneMs: number, into: PaneSums): void {
  const { fromMs, toMs, delta } = increment;
  const spanMs = toMs - fromMs;
  if (!(spanMs > 0)) {
    into.add(Math.floor(toMs / paneMs) * paneMs, delta);
    return;
  }
  const firstPane = Math.floor(fromMs / paneMs);
  const lastPane = Math.ceil(toMs / paneMs) - 1;
  for (let pane = Math.max(firstPane, lastPane - MAX_PANES + 1); pane <= lastPane; pane++) {
    const coveredMs = Math.min(toMs, (pane + 1) * paneMs) - Math.max(fromMs, pane * paneMs);
    into.add(pane * paneMs, delta * (coveredMs / spanMs));
  }
}
