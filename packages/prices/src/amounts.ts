import { allSteps, sortedSteps } from "@isochrone/primitives/algorithms";
import type { BillAmount, BillReason } from "@isochrone/topology";

/** Bytes and money, summed. Unknown stays unknown until something is known. */
export class Amount {
  #bytesPerSecond: number | null = null;
  #perMonth: number | null = null;
  #unpriced = 0;
  #unknown: BillReason | null = null;

  /** Why money is unknown, or is without a part; of several reasons the first. */
  get unknown(): BillReason | null {
    return this.#unknown;
  }

  /** Bytes with their price. */
  addPriced(bytesPerSecond: number, perMonth: number): void {
    this.#bytesPerSecond = (this.#bytesPerSecond ?? 0) + bytesPerSecond;
    this.#perMonth = (this.#perMonth ?? 0) + perMonth;
  }

  /** @param bytesPerSecond null: they aren't known either */
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

  /** Below 0: dearer than the other. What has no price comes last, by bytes. */
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

/** Sums by key. */
export class Amounts<T> {
  readonly #byKey = new Map<string, AmountLine<T>>();

  at(key: string, of: T): Amount {
    let found = this.#byKey.get(key);
    if (found === undefined) this.#byKey.set(key, (found = { of, amount: new Amount() }));
    return found.amount;
  }

  /** The dearest first. */
  lines(): AmountLine<T>[] {
    return allSteps(this.lineSteps());
  }

  /** As {@link lines}, in steps. */
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
