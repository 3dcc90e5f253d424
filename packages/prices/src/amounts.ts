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
  readonly #byKey = new Map<string, { readonly of: T; readonly amount: Amount }>();

  at(key: string, of: T): Amount {
    let found = this.#byKey.get(key);
    if (found === undefined) this.#byKey.set(key, (found = { of, amount: new Amount() }));
    return found.amount;
  }

  /** The dearest first. */
  lines(): { readonly of: T; readonly amount: Amount }[] {
    return Array.from(this.#byKey)
      .sort(([a, { amount: one }], [b, { amount: other }]) => byMoney(one, other) || (a < b ? -1 : 1))
      .map(([, line]) => line);
  }
}

/** What has no price comes last, by bytes. */
function byMoney(a: Amount, b: Amount): number {
  const [one, other] = [a.read(), b.read()];
  return (
    (other.perMonth ?? -1) - (one.perMonth ?? -1) || (other.bytesPerSecond ?? -1) - (one.bytesPerSecond ?? -1)
  );
}
