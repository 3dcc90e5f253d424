/** Time of the last test by key. At capacity the oldest entry is evicted. */
export class RecentTests {
  readonly #limit: number;
  readonly #lastMs = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#lastMs.size;
  }

  /** Returns -Infinity if there was no test, or its entry was evicted. */
  last(key: string): number {
    return this.#lastMs.get(key) ?? Number.NEGATIVE_INFINITY;
  }

  mark(key: string, nowMs: number): void {
    this.#lastMs.delete(key);
    this.#lastMs.set(key, nowMs);
    const [oldest] = this.#lastMs.keys();
    if (this.#lastMs.size > this.#limit) this.#lastMs.delete(oldest!);
  }
}
