/** When something was tested last, of so many things at most: the longest untested one is forgotten first. */
export class RecentTests {
  readonly #limit: number;
  readonly #lastMs = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#lastMs.size;
  }

  /** -Infinity: never, or too long ago to know. */
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
