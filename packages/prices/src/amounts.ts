import { allSteps, sortedSteps } from "@isochrone/primitives/algorithms";
import type { BillAmount, BillReason } from "@isochrone/topology";

/** Sums of bytes and money. Unknown until something is known. */
export class Amount {
  #bytesPerSecond: number | null = null;
  #perMonth: number | null = null;
  #unpriced = 0;
  #unknown: BillReason | null = null;

  get unknown(): BillReason | null {
    return this.#unknown;
  }

  addPriced(bytesPerSecond: number, perMonth: number): void {
    this.#bytesPerSecond = (this.#bytesPerSecond ?? 0) + bytesPerSecond;
    this.#perMonth = (this.#perMonth ?? 0) + perMonth;
  }

  addUnpriced(bytesPerSecond: number | null, reason: BillReason): void {
    this.#unknown ??= reason;
    if (bytesPerSecond === null) return;
    this.#bytesPerSecond = (this.#bytesPerSecond ?? 0) + bytesPerSecond;
    this.#unpriced += bytesPerSecond;
  }

  add(other: Amount): void {
    if (other.#bytesPerSecond !== null)
      this.#bytesPerSecond = (this.#bytesPerSecond ?? 0) + other.#bytesPerSecond;
    if (other.#perMonth !== null) this.#perMonth = (this.#perMonth ?? 0) + other.#perMonth;
    this.#unpriced += other.#unpriced;
    this.#unknown ??= other.#unknown;
  }

  /** Negative: more expensive than the other. Unpriced amounts come last, by bytes. */
  compare(other: Amount): number {
    return (
      (other.#perMonth ?? -1) - (this.#perMonth ?? -1) ||
      (other.#bytesPerSecond ?? -1) - (this.#bytesPerSecond ?? -1)
    );
  }

  read(): BillAmount {
    return {
      bytesPerSecond: this.#bytesPerSecond,
      perMonth: this.#perMonth,
      unpricedBytesPerSecond: this.#unpriced,
    };
  }
}

export class Amounts<T> {
  readonly #byKey = new Map<string, AmountLine<T>>();

  at(key: string, of: T): Amount {
    let found = this.#byKey.get(key);
    if (found === undefined) this.#byKey.set(key, (found = { of, amount: new Amount() }));
    return found.amount;
  }

  lines(): AmountLine<T>[] {
    return allSteps(this.lineSteps());
  }

  *lineSteps(): Generator<void, AmountLine<T>[]> {
    const sorted = yield* sortedSteps(
      [...this.#byKey],
      ([a, { amount: one }], [b, { amount: other }]) => one.compare(other) || (a < b ? -1 : 1),
    );
    return sorted.map(([, line]) => line);
  }
}

interface AmountLine<T> {
  readonly of: T;
  readonly amount: Amount;
}
