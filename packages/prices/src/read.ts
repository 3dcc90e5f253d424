import { isKeyOf, isList, isRecord, keysOf, looseFields, type Unchecked } from "@isochrone/primitives";
import { readDestinations } from "./destinations.ts";
import { PriceError, shown } from "./errors.ts";
import { openCostPrices, openCostRows } from "./open-cost.ts";
import { PROVIDERS, SCOPES, UNITS, type Destination, type PriceRow, type Scope } from "./row.ts";

export interface PriceFile {
  /** Disables all built-in rows. */
  readonly replace: boolean;
  readonly rows: readonly PriceRow[];
  readonly destinations: readonly Destination[];
}

const MAX_ROWS = 10_000;
const MAX_TEXT = 500;
/** Per unit: a thousand times the highest real price. */
const MAX_PRICE = 10_000;
const REGION = /^[a-z0-9][a-z0-9.-]{0,62}\*?$|^\*$/;
const CURRENCY = /^[A-Z]{3}$/;
const DATE = /^unknown$|^\d{4}-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?$/;

/**
 * Reads our format, OpenCost's, or chart values with either as `prices`. OpenCost's replace all built-in
 * rows. Throws PriceError listing all mistakes.
 */
export function readPrices(json: unknown): PriceFile {
  if (!isRecord(json))
    throw new PriceError([`prices must be an object with a list prices, got ${shown(json)}`]);
  const { prices } = json;
  if (isRecord(prices)) return readValues(json, prices);
  const openCost = prices === undefined ? openCostPrices(json) : null;
  return openCost === null ? readOwn(json) : readOpenCost(openCost);
}

function readOwn(json: Readonly<Record<string, unknown>>): PriceFile {
  const { prices, replace = false, destinations, ...others } = json;
  const mistakes = Object.keys(others).map(
    (name) => `${name} is no field of prices (replace, prices, destinations)`,
  );
  if (typeof replace !== "boolean") mistakes.push(`replace must be true or false, got ${shown(replace)}`);
  const isWithout = prices === undefined && destinations !== undefined && replace === false;
  const rows = isWithout ? [] : rowsOf(prices, mistakes);
  const far = destinations === undefined ? [] : readDestinations(destinations, mistakes);
  if (mistakes.length > 0) throw new PriceError(mistakes);
  return { replace: replace === true, rows, destinations: far };
}

/** Ignores other chart values. Price fields beside `prices` are one level too high. */
function readValues(values: Readonly<Record<string, unknown>>, prices: unknown): PriceFile {
  const mistakes = ["replace", "destinations"]
    .filter((name) => Object.hasOwn(values, name))
    .map((name) => `${name} must be in the object prices, got it beside prices`);
  if (mistakes.length > 0) throw new PriceError(mistakes);
  return readPrices(prices);
}

function readOpenCost(prices: Readonly<Record<string, unknown>>): PriceFile {
  const mistakes: string[] = [];
  const rows = openCostRows(prices, MAX_PRICE, mistakes);
  const { destinations } = prices;
  const far = destinations === undefined ? [] : readDestinations(destinations, mistakes);
  if (mistakes.length > 0) throw new PriceError(mistakes);
  return { replace: true, rows, destinations: far };
}

function rowsOf(prices: unknown, mistakes: string[]): PriceRow[] {
  if (!isList(prices) || prices.length === 0 || prices.length > MAX_ROWS)
    throw new PriceError([
      ...mistakes,
      `prices must be a list of 1 to ${MAX_ROWS} rows, got ${isList(prices) ? prices.length : shown(prices)}`,
    ]);
  return prices.flatMap((row, index) => {
    if (isRecord(row)) return [new RowReader(row, `prices[${index}]`, mistakes).read()];
    mistakes.push(`prices[${index}] must be an object, got ${shown(row)}`);
    return [];
  });
}

const FIELDS: Readonly<Record<keyof PriceRow, null>> = {
  provider: null,
  scope: null,
  from: null,
  to: null,
  out: null,
  in: null,
  per: null,
  currency: null,
  source: null,
  date: null,
};

class RowReader {
  readonly #fields: Unchecked<PriceRow>;
  readonly #path: string;
  readonly #mistakes: string[];

  constructor(row: object, path: string, mistakes: string[]) {
    this.#fields = looseFields<PriceRow>(row);
    this.#path = path;
    this.#mistakes = mistakes;
  }

  read(): PriceRow {
    for (const field of Object.keys(this.#fields))
      if (!isKeyOf(FIELDS, field)) this.#mistakes.push(`${this.#path}.${field} is no field of a price`);
    const scope = this.#oneOf("scope", SCOPES);
    return {
      provider: this.#oneOf("provider", PROVIDERS),
      scope,
      from: this.#region("from"),
      to: this.#to(scope),
      out: this.#price("out"),
      in: this.#price("in"),
      per: this.#oneOf("per", keysOf(UNITS)),
      currency: this.#text("currency", CURRENCY, "must be a currency's three letters, as USD"),
      source: this.#text("source", /\S/, `must say where the price is published, in ${MAX_TEXT} characters`),
      date: this.#text("date", DATE, "must be a date, as 2026-01-31 or 2026-01, or unknown"),
    };
  }

  #to(scope: Scope): string | null {
    if (scope === "region-to-region") return this.#region("to");
    return this.#fields.to === undefined
      ? null
      : this.#refuse("to", "is for scope region-to-region only", null);
  }

  #region(field: "from" | "to"): string {
    return this.#text(field, REGION, "must be a region, or how regions begin and then *");
  }

  #oneOf<T extends string>(field: keyof PriceRow, known: readonly T[]): T {
    const found = known.find((each) => each === this.#fields[field]);
    return found ?? this.#refuse(field, `must be one of ${known.join(", ")}`, known[0]!);
  }

  #price(field: "in" | "out"): number {
    const value = this.#fields[field];
    if (typeof value === "number" && value >= 0 && value <= MAX_PRICE) return value;
    return this.#refuse(field, `must be a number from 0 to ${MAX_PRICE}`, 0);
  }

  #text(field: keyof PriceRow, pattern: RegExp, rule: string): string {
    const value = this.#fields[field];
    if (typeof value === "string" && value.length <= MAX_TEXT && pattern.test(value)) return value;
    return this.#refuse(field, rule, "");
  }

  #refuse<T>(field: keyof PriceRow, rule: string, stead: T): T {
    this.#mistakes.push(`${this.#path}.${field} ${rule}, got ${shown(this.#fields[field])}`);
    return stead;
  }
}
