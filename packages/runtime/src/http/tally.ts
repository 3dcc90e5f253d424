/** Counts by key. It knows a key with the highest count at once, whatever the number of keys. */
export class Tally {
  readonly #counts = new Map<string, number>();
  readonly #keysOf = new Map<number, Set<string>>();
  #highest = 0;

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** A key that none exceeds: of equal ones, that which has had its count the longest. Null of nothing. */
  get heaviest(): string | null {
    const [key = null] = this.#keysOf.get(this.#highest) ?? [];
    return key;
  }

  increment(key: string): void {
    this.#move(key, this.of(key) + 1);
  }

  /** Of a key that was never incremented: no change. */
  decrement(key: string): void {
    if (this.of(key) > 0) this.#move(key, this.of(key) - 1);
  }

  #move(key: string, count: number): void {
    const before = this.of(key);
    const keys = this.#keysOf.get(before);
    keys?.delete(key);
    if (keys?.size === 0) this.#keysOf.delete(before);
    if (count === 0) this.#counts.delete(key);
    else {
      this.#counts.set(key, count);
      let others = this.#keysOf.get(count);
      if (others === undefined) this.#keysOf.set(count, (others = new Set()));
      others.add(key);
    }
    // A count changes by one: below an empty top lies the key that just left it.
    if (count > this.#highest || (before === this.#highest && !this.#keysOf.has(before)))
      this.#highest = count;
  }
}
