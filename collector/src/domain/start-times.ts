// When each counter of a target began to count. The text format doesn't say; without it the first value of a new series would be lost
// as a mere baseline. A series that the page before did not have began after that page, and one that fell began anew.

interface Seen {
  startMs: number | undefined;
  value: number;
  round: number;
}

/** Start times of one target's cumulative series. Bounded: past `maxSeries` new ones get no start time. */
export class StartTimes {
  readonly #series = new Map<string, Seen>();
  readonly #maxSeries: number;
  #round = 0;
  #previousMs: number | undefined;
  #currentMs = 0;

  constructor(maxSeries: number) {
    this.#maxSeries = maxSeries;
  }

  /** Call before the samples of a page. */
  begin(scrapeMs: number): void {
    this.#round++;
    this.#currentMs = scrapeMs;
  }

  /** `processStartMs`: what the page itself says, if it does. Undefined: not known, the value is a baseline. */
  of(key: string, value: number, processStartMs: number | undefined): number | undefined {
    const seen = this.#series.get(key);
    if (seen === undefined) {
      const startMs = processStartMs ?? this.#previousMs;
      if (this.#series.size < this.#maxSeries) this.#series.set(key, { startMs, value, round: this.#round });
      return startMs;
    }
    if (value < seen.value) seen.startMs = laterOf(processStartMs, this.#previousMs);
    seen.value = value;
    seen.round = this.#round;
    return seen.startMs;
  }

  /** Call after the samples of a whole page: forgets what the page no longer has. */
  end(): void {
    for (const [key, seen] of this.#series) if (seen.round !== this.#round) this.#series.delete(key);
    this.#previousMs = this.#currentMs;
  }
}

function laterOf(first: number | undefined, second: number | undefined): number | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return Math.max(first, second);
}
