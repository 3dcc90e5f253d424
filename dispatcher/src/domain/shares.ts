/**
 * Places shared by many keys. A key gets another place while it holds fewer than are free (dynamic
 * thresholds, Choudhury and Hahne 1998): one key may take half, two a third each, and some stay free for
 * newcomers.
 */
export class Shares {
  readonly #max: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get total(): number {
    return this.#total;
  }

  hasRoom(key: string, amount: number): boolean {
    return (this.#held.get(key) ?? 0) + amount <= this.#max - this.#total;
  }

  take(key: string, amount: number): void {
    this.#held.set(key, (this.#held.get(key) ?? 0) + amount);
    this.#total += amount;
  }

  give(key: string, amount: number): void {
    const left = (this.#held.get(key) ?? 0) - amount;
    if (left > 0) this.#held.set(key, left);
    else this.#held.delete(key);
    this.#total -= amount;
  }
}
