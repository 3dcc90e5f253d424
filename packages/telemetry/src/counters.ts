/** What a cumulative counter grew by between two times. */
export interface Increment {
  readonly fromMs: number;
  readonly toMs: number;
  /** Never negative; 0 says that nothing happened, which is information too. */
  readonly delta: number;
  /** The counter began anew since the last sample. */
  readonly reset: boolean;
}

/** @see CounterTracks */
interface CounterTracksOptions {
  /**
   * A first sample whose known start lies further back than this is only a baseline, not an increment since
   * its start.
   * @default Infinity
   */
  readonly maxFirstSpanMs?: number;
}

/** Columns of a track, a row of doubles. */
const START_MS = 0;
/**
 * A start that lay after the newest sample that came with it: what it began is counted already, if the value
 * fell.
 */
const EARLY_START_MS = 1;
/** 0: no sample yet. */
const TIME_MS = 2;
const VALUE = 3;
/**
 * Between the two newest samples: time, and by how much the counter grew; 0 while there are not two of one
 * life.
 */
const SPAN_MS = 4;
const GROWTH = 5;
/** What `end` has added after the newest sample; a later one doesn't count it again. */
const ADDED = 6;
const COLUMNS = 7;

/**
 * A series that was missing from so many of its own intervals has ended, or its source failed to read it
 * once.
 */
const SILENT_SPANS = 1.5;
/** A counter goes on for half an interval after the last time that it was read, on average. */
const UNSEEN_SPANS = 0.5;

const TRACKS_PER_BLOCK = 256;

/**
 * Turns the samples of cumulative series into increments. A counter began anew if it fell, or if its start
 * changed; then the whole new value counts, from the new start if that is known and after the last sample,
 * else from the last sample. Senders that forget when a counter began name a new start for one that goes on:
 * a start at the sample's own time says so, and else the rate tells (`isSameCounter`).
 *
 * Tracks are rows of numbers, taken and given back by number: as an object with four doubles each would be
 * 130 bytes, and there are hundreds of thousands. Who takes one gives it back, or it is lost.
 */
export class CounterTracks {
  readonly #maxFirstSpanMs: number;
  readonly #blocks: Float64Array[] = [];
  readonly #free: number[] = [];
  #given = 0;

  constructor(options: CounterTracksOptions = {}) {
    this.#maxFirstSpanMs = options.maxFirstSpanMs ?? Infinity;
  }

  /** Tracks that are in use. */
  get used(): number {
    return this.#given - this.#free.length;
  }

  /** A track without a sample. */
  take(): number {
    const known = this.#free.pop();
    if (known !== undefined) return known;
    if (this.#given === this.#blocks.length * TRACKS_PER_BLOCK)
      this.#blocks.push(new Float64Array(TRACKS_PER_BLOCK * COLUMNS));
    return this.#given++;
  }

  /** Takes a track back. It must not be used any more. */
  release(track: number): void {
    this.clear(track);
    this.#free.push(track);
  }

  /** Forgets its samples. */
  clear(track: number): void {
    const at = placeOf(track);
    this.#blockOf(track).fill(0, at, at + COLUMNS);
  }

  /**
   * Takes a sample. Null when it gives no increment: the first one without a known start (or with its own
   * time as start, which is how a Prometheus receiver marks a counter of unknown age), a repeated or older
   * one, or no sane number.
   * @param startMs when the counter began; 0 where unknown. A start after the sample counts as unknown.
   */
  observe(track: number, startMs: number, timeMs: number, value: number): Increment | null {
    const block = this.#blockOf(track);
    const at = placeOf(track);
    const beforeMs = block[at + TIME_MS]!;
    if (!(timeMs > beforeMs && Number.isFinite(timeMs) && value >= 0 && Number.isFinite(value))) return null;
    const knownStartMs = startMs > 0 && startMs <= timeMs ? startMs : 0;
    const increment =
      beforeMs === 0
        ? this.#first(knownStartMs, timeMs, value)
        : next(block, at, knownStartMs, timeMs, value);
    // A sample without a start doesn't make us forget the one that we know, unless the counter began anew.
    if (knownStartMs > 0 || increment?.reset === true) block[at + START_MS] = knownStartMs;
    if (startMs > timeMs) block[at + EARLY_START_MS] = startMs;
    noteRate(block, at, { isSameLife: beforeMs > 0 && increment?.reset === false, timeMs, value });
    block[at + TIME_MS] = timeMs;
    block[at + VALUE] = value;
    return increment;
  }

  /**
   * As {@link observe}, for the first sample after a restart of the sender. One that sums counters forgets
   * those that have ended: if its sum fell, and no start says that it began anew, the rate of before counts.
   */
  observeAnew(track: number, startMs: number, timeMs: number, value: number): Increment | null {
    const block = this.#blockOf(track);
    const at = placeOf(track);
    const fromMs = block[at + TIME_MS]!;
    const isForgotten = fromMs > 0 && timeMs > fromMs && value < block[at + VALUE]! && startMs < fromMs;
    if (!isForgotten) return this.observe(track, startMs, timeMs, value);
    const spanMs = block[at + SPAN_MS]!;
    const sinceThen = spanMs > 0 ? (block[at + GROWTH]! * (timeMs - fromMs)) / spanMs : 0;
    const delta = Math.max(0, Math.min(value, sinceThen) - block[at + ADDED]!);
    this.clear(track);
    this.observe(track, 0, timeMs, value);
    return { fromMs, toMs: timeMs, delta, reset: true };
  }

  /**
   * What a counter that is read no more is likely to have counted after its last sample: half an interval at
   * its last rate, as Prometheus' `rate` takes it where a series ends. Without it the sum over replicas that
   * come and go is too small, always. Null while it isn't missing, and after that was said once. Should it
   * have been away only, what was added here is deducted from its next increment.
   * @param timeMs up to which its source has spoken of others, on the source's clock
   */
  end(track: number, timeMs: number): Increment | null {
    const block = this.#blockOf(track);
    const at = placeOf(track);
    const spanMs = block[at + SPAN_MS]!;
    const growth = block[at + GROWTH]!;
    const lastMs = block[at + TIME_MS]!;
    if (growth === 0 || block[at + ADDED] !== 0 || timeMs < lastMs + SILENT_SPANS * spanMs) return null;
    const delta = (block[at + ADDED] = growth * UNSEEN_SPANS);
    return { fromMs: lastMs, toMs: lastMs + spanMs * UNSEEN_SPANS, delta, reset: false };
  }

  #first(startMs: number, timeMs: number, value: number): Increment | null {
    if (startMs === 0 || startMs === timeMs || timeMs - startMs > this.#maxFirstSpanMs) return null;
    return { fromMs: startMs, toMs: timeMs, delta: value, reset: false };
  }

  #blockOf(track: number): Float64Array {
    return this.#blocks[Math.floor(track / TRACKS_PER_BLOCK)]!;
  }
}

function placeOf(track: number): number {
  return (track % TRACKS_PER_BLOCK) * COLUMNS;
}

/** What `end` goes by. */
function noteRate(
  block: Float64Array,
  at: number,
  { isSameLife, timeMs, value }: { isSameLife: boolean; timeMs: number; value: number },
): void {
  block[at + SPAN_MS] = isSameLife ? timeMs - block[at + TIME_MS]! : 0;
  block[at + GROWTH] = isSameLife ? value - block[at + VALUE]! : 0;
  block[at + ADDED] = 0;
}

function next(block: Float64Array, at: number, startMs: number, timeMs: number, value: number): Increment {
  const lastStartMs = block[at + START_MS]!;
  const added = block[at + ADDED]!;
  const sampledMs = block[at + TIME_MS]!;
  const lastMs = added > 0 ? Math.min(timeMs, sampledMs + block[at + SPAN_MS]! * UNSEEN_SPANS) : sampledMs;
  const lastValue = block[at + VALUE]!;
  // A start that was not known before is a new one if it lies after what was already counted.
  const isNewStart =
    startMs > 0 &&
    startMs !== lastStartMs &&
    startMs !== block[at + EARLY_START_MS] &&
    (lastStartMs > 0 || startMs >= sampledMs);
  const growth = value - lastValue - added;
  const fromMs = startMs > lastMs && startMs < timeMs ? startMs : lastMs;
  const goesOn =
    value >= lastValue &&
    (!isNewStart ||
      startMs === timeMs ||
      isSameCounter(
        block[at + GROWTH]! / block[at + SPAN_MS]!,
        growth / (timeMs - lastMs),
        value / (timeMs - fromMs),
      ));
  if (goesOn) return { fromMs: lastMs, toMs: timeMs, delta: Math.max(0, growth), reset: false };
  return { fromMs, toMs: timeMs, delta: value, reset: true };
}

/** Rates agree up to this factor. */
const AGREEING_RATES = 4;
/** The start of a counter is believed up to so many times the rate that it had before. */
const BELIEVED_RATES = 100;

/**
 * Whether a counter that has a new start and didn't fall went on: its rate before agrees with that, and is
 * far from what it would have counted since its start.
 *
 * @param before its rate; NaN: no rate is known, and the start is believed
 * @param goingOn the rate if it went on
 * @param anew the rate if it began at its new start
 */
function isSameCounter(before: number, goingOn: number, anew: number): boolean {
  const isAgreeing = before > 0 && goingOn <= AGREEING_RATES * before && before <= AGREEING_RATES * goingOn;
  return isAgreeing && anew > BELIEVED_RATES * before;
}

/**
 * What increments are shared among: an object and not a function, because there is one for each of a hundred
 * thousand counters.
 */
export interface PaneSums {
  add(paneStartMs: number, part: number): void;
}

/** An increment over a longer time than this many panes only reaches the newest ones: no window is longer. */
const MAX_PANES = 1_024;

/**
 * Shares an increment among the panes that [fromMs, toMs] covers, in proportion to the time in each, oldest
 * first. Panes more than 1,023 before the last get no call (their share is not moved to the others), so that
 * a counter which claims to be as old as the epoch costs no more than a young one. Increments of no length go
 * to the pane of `toMs`.
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
