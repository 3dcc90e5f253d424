const REMEMBERED = 16;

/**
 * Minimum of a step's recent durations. A responder adds it to its measured residence. A mean or median would
 * include slow phases (cold start, preemption), and the excess would be subtracted from the network's time.
 */
export class LeastTime {
  readonly #fewest: number;
  readonly #latest: number[] = [];
  #oldest = 0;
  #ms = 0;

  constructor(fewest = 1) {
    this.#fewest = fewest;
  }

  /** Milliseconds; 0 before there are enough samples. */
  get ms(): number {
    return this.#latest.length < this.#fewest ? 0 : this.#ms;
  }

  add(ms: number): void {
    if (this.#latest.length < REMEMBERED) this.#latest.push(ms);
    else {
      this.#latest[this.#oldest] = ms;
      this.#oldest = (this.#oldest + 1) % REMEMBERED;
    }
    let least = ms;
    for (const other of this.#latest) if (other < least) least = other;
    this.#ms = least;
  }
}
