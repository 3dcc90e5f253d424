/** Multiset of counts with constant-time minimum and maximum, for changes by one. */
export class Histogram {
  readonly #items: Int32Array;
  #size = 0;
  #least = 0;
  #greatest = 0;

  constructor(maxCount: number) {
    this.#items = new Int32Array(maxCount + 2);
  }

  get size(): number {
    return this.#size;
  }

  /** Minimum count; 0 if empty. */
  get least(): number {
    return this.#size === 0 ? 0 : this.#least;
  }

  /** Maximum count; -1 if empty. */
  get greatest(): number {
    return this.#size === 0 ? -1 : this.#greatest;
  }

  /** Minimum without one item of `count`; Infinity if it is the only one. */
  leastWithout(count: number): number {
    if (this.#size <= 1) return Infinity;
    if (count !== this.#least || this.#items[count]! > 1) return this.#least;
    let next = count + 1;
    while (this.#items[next] === 0) next++;
    return next;
  }

  insert(count: number): void {
    if (this.#size === 0 || count < this.#least) this.#least = count;
    if (this.#size === 0 || count > this.#greatest) this.#greatest = count;
    this.#items[count]!++;
    this.#size++;
  }

  delete(count: number): void {
    this.#items[count]!--;
    this.#size--;
    if (this.#size === 0) return;
    while (this.#items[this.#least] === 0) this.#least++;
    while (this.#items[this.#greatest] === 0) this.#greatest--;
  }
}
