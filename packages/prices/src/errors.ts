/** Thrown for prices that can't be used; the message names each row, its rule and the value. */
export class PriceError extends Error {
  readonly code = "bad_prices";
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join("; "));
    this.name = new.target.name;
    this.mistakes = mistakes;
  }
}

/** A value in a message. */
export function shown(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value).slice(0, 80);
}
