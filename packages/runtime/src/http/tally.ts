/** Counts by key, with the maximum in constant time. */
export class Tally {
  readonly #counts = new Map<string, number>();
  readonly #keysOf = new Map<number, Set<string>>();
  #highest = 0;

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** A key of the highest count; among equals the one that reached it first. Null if empty. */
  get heaviest(): string | null {
    const [key = null] = this.#keysOf.get(this.#highest) ?? [];
    return key;
  }

  increment(key: string): void {
    this.#move(key, this.of(key) + 1);
  }

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
    // Counts change by one, so below an emptied maximum is the key that just left it.
    if (count > this.#highest || (before === this.#highest && !this.#keysOf.has(before)))
      this.#highest = count;
  }
}
