export interface Increment {
  readonly fromMs: number;
  readonly toMs: number;
  /** Growth of the counter, never negative. 0 is information, too. */
  readonly delta: number;
  /** Whether the counter restarted since the last sample. */
  readonly reset: boolean;
}

interface CounterTracksOptions {
  /** A first sample with an older start is only a baseline. @default Infinity */
  readonly maxFirstSpanMs?: number;
}

const START_MS = 0;
/** A start later than its own sample. Seen again it is no new restart: a fallen value was already counted. */
const EARLY_START_MS = 1;
const TIME_MS = 2;
const VALUE = 3;
/** Time and growth between the two newest samples; 0 unless both are of one life. */
const SPAN_MS = 4;
const GROWTH = 5;
/** Growth that `end` extrapolated; the next increment deducts it. */
const ADDED = 6;
const COLUMNS = 7;

/** Intervals without a sample after which a series counts as ended. Above 1, to tolerate one failed read. */
const SILENT_SPANS = 1.5;
/** Intervals that an ended counter continued after its last read, on average. */
const UNSEEN_SPANS = 0.5;

const TRACKS_PER_BLOCK = 256;

/**
 * A fallen value or a new start means a restart: the whole new value counts. Some senders report a new start
 * for a continuing counter, so the rate decides (`isSameCounter`). Tracks are rows of numbers to save memory;
 * callers must release them.
 */
export class CounterTracks {
  readonly #maxFirstSpanMs: number;
  readonly #blocks: Float64Array[] = [];
  readonly #free: number[] = [];
  #given = 0;

  constructor(options: CounterTracksOptions = {}) {
    this.#maxFirstSpanMs = options.maxFirstSpanMs ?? Infinity;
  }

  get used(): number {
    return this.#given - this.#free.length;
  }

  take(): number {
    const known = this.#free.pop();
    if (known !== undefined) return known;
    if (this.#given === this.#blocks.length * TRACKS_PER_BLOCK)
      this.#blocks.push(new Float64Array(TRACKS_PER_BLOCK * COLUMNS));
    return this.#given++;
  }

  release(track: number): void {
    this.clear(track);
    this.#free.push(track);
  }

  clear(track: number): void {
    const at = placeOf(track);
    this.#blockOf(track).fill(0, at, at + COLUMNS);
  }

  /**
   * Returns null for a first sample of unknown start, a repeated or older sample, or an invalid number.
   * @param startMs start of the counter; 0, timeMs or later: unknown
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
    // A sample without a start keeps the known start, unless the counter restarted.
    if (knownStartMs > 0 || increment?.reset === true) block[at + START_MS] = knownStartMs;
    if (startMs > timeMs) block[at + EARLY_START_MS] = startMs;
    noteRate(block, at, { isSameLife: beforeMs > 0 && increment?.reset === false, timeMs, value });
    block[at + TIME_MS] = timeMs;
    block[at + VALUE] = value;
    return increment;
  }

  /**
   * A sender of sums forgets ended counters when it restarts: if its sum fell without a new start, the
   * previous rate counts.
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
   * Extrapolates an ended counter by half an interval at its last rate, as Prometheus' `rate` does. If it
   * returns, its next increment deducts this. Null: not missing, or done before.
   * @param timeMs newest sample time of its source
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
  // A start that was unknown before is new if it lies after already counted time.
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

const AGREEING_RATES = 4;
/** A restart is plausible up to this multiple of the previous rate. */
const BELIEVED_RATES = 100;

/**
 * @param before previous rate; NaN: unknown, and the start is trusted
 * @param goingOn rate if it continued
 * @param anew rate if it restarted
 */
function isSameCounter(before: number, goingOn: number, anew: number): boolean {
  const isAgreeing = before > 0 && goingOn <= AGREEING_RATES * before && before <= AGREEING_RATES * goingOn;
  return isAgreeing && anew > BELIEVED_RATES * before;
}

export interface PaneSums {
  add(paneStartMs: number, part: number): void;
}

/** Longer increments reach only the newest panes; no window has more. */
const MAX_PANES = 1_024;

/**
 * Oldest pane first. Skips panes more than 1,023 before the last, which bounds the cost of an absurd start. A
 * zero-length increment goes to the pane of `toMs`.
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
