/** Samples that are remembered. */
const REMEMBERED = 16;

/**
 * The least of the latest times that some step took: what it will take again at the least. A responder adds
 * it to what it has measured of its residence. A mean or a median would be too much whenever the thread was
 * slower before (a cold start, a processor lost for milliseconds), and what is too much is taken from the
 * network's time.
 */
export class LeastTime {
  readonly #fewest: number;
  readonly #latest: number[] = [];
  #oldest = 0;
  #ms = 0;

  /** @param fewest samples that say something: all of fewer may have been slow */
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
