/** New series that one source may still bring in its current window. */
export interface SeriesBudget {
  left: number;
  /** End of the window, ms. */
  untilMs: number;
}

/** Bounds how many new series a source may bring per window, so that one of them can't take the others' place. */
export class SeriesBudgets {
  readonly #maxNewSeries: number;
  readonly #windowMs: number;
  readonly #maxSources: number;
  /** Least recently heard of first. */
  readonly #bySource = new Map<string, SeriesBudget>();

  constructor(maxNewSeries: number, windowMs: number, maxSources: number) {
    this.#maxNewSeries = maxNewSeries;
    this.#windowMs = windowMs;
    this.#maxSources = maxSources;
  }

  of(source: string, nowMs: number): SeriesBudget {
    const budget = this.#bySource.get(source) ?? { left: 0, untilMs: Number.NEGATIVE_INFINITY };
    // Who is forgotten gets a new budget: those that speak must not be, or one of them could spend several per window.
    this.#bySource.delete(source);
    this.#bySource.set(source, budget);
    if (this.#bySource.size > this.#maxSources) this.#bySource.delete(this.#bySource.keys().next().value!);
    if (nowMs >= budget.untilMs) {
      budget.left = this.#maxNewSeries;
      budget.untilMs = nowMs + this.#windowMs;
    }
    return budget;
  }
}
