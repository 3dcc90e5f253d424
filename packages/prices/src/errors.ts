export class PriceError extends Error {
  readonly code = "bad_prices";
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join("; "));
    this.name = new.target.name;
    this.mistakes = mistakes;
  }
}

export function shown(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value).slice(0, 80);
}
