import { PriceError } from "./errors.ts";
import type { Place } from "./place.ts";
import type { PriceFile } from "./read.ts";
import { rowName, UNITS, type Destination, type PriceRow, type Scope } from "./row.ts";
import { AWS_ROWS } from "./rows/aws.ts";
import { AZURE_ROWS } from "./rows/azure.ts";
import { GCP_ROWS } from "./rows/gcp.ts";

/**
 * Reasons for a missing price: a place has no zone or region; no row matches; directions differ in price and
 * bytes per direction are unknown.
 */
export type Unpriced = "direction" | "no_price" | "no_zone";

export interface Price {
  readonly perByte: number;
  readonly rows: readonly PriceRow[];
}

export interface OutsidePrice {
  readonly sentPerByte: number;
  readonly receivedPerByte: number;
  readonly rows: readonly PriceRow[];
}

/** Default for public addresses without another name. */
const INTERNET: Destination = { name: "internet", scope: "internet", region: null };

const BUILT_IN: readonly PriceRow[] = [...AWS_ROWS, ...GCP_ROWS, ...AZURE_ROWS];

/** Smaller relative differences are rounding errors. */
const SAME = 1e-9;

/** All known prices. Anything without a row has no price. */
export class PriceTable {
  readonly currency: string;
  readonly rows: readonly PriceRow[];
  readonly #rows = new Map<string, PriceRow[]>();
  readonly #destinations: ReadonlyMap<string, Destination>;

  private constructor(rows: readonly PriceRow[], destinations: readonly Destination[]) {
    this.#destinations = new Map([INTERNET, ...destinations].map((each) => [each.name, each]));
    this.currency = rows[0]!.currency;
    this.rows = rows;
    for (const row of rows) {
      const key = groupOf(row.provider, row.scope);
      const group = this.#rows.get(key);
      if (group === undefined) this.#rows.set(key, [row]);
      else group.push(row);
    }
    for (const group of this.#rows.values()) group.sort(bySharpness);
  }

  /**
   * File rows replace built-in ones of the same provider, scope and regions. Throws PriceError for
   * contradicting rows and for mixed currencies.
   */
  static of(file: PriceFile | null): PriceTable {
    const own = distinct(file?.rows ?? []);
    const builtIn = file?.replace === true ? [] : BUILT_IN.filter((row) => !own.has(rowName(row)));
    const rows = [...builtIn, ...own.values()];
    const currencies = [...new Set(rows.map(({ currency }) => currency))];
    if (currencies.length > 1)
      throw new PriceError([
        `prices must be in one currency, got ${currencies.join(" and ")}; replace: true leaves out the rows in ${currencies[0]!} that are built in`,
      ]);
    return new PriceTable(rows, file?.destinations ?? []);
  }

  between(a: Place, b: Place): Price | Unpriced {
    const scope = scopeOf(a, b);
    if (scope === null) return "no_zone";
    if (a.provider !== b.provider) return "no_price";
    const there = this.#row(scope, a, b);
    const back = this.#row(scope, b, a);
    if (there === null || back === null) return "no_price";
    const perByte = perByteOf(there);
    if (Math.abs(perByte - perByteOf(back)) > SAME * perByte) return "direction";
    return { perByte, rows: there === back ? [there] : [there, back] };
  }

  /**
   * Price between a place and an outside destination. On the Internet one end is billed, elsewhere both.
   * Unlisted destinations have no price, nor do destinations in the place's own region, whose zone is
   * unknown.
   */
  outside(place: Place, name: string): OutsidePrice | Unpriced {
    const destination = this.#destinations.get(name);
    if (destination === undefined) return "no_price";
    const { scope, region } = destination;
    if (scope === "region-to-region" && place.region === null) return "no_zone";
    if (region !== null && region === place.region) return "no_price";
    const far = { ...place, region: region ?? place.region };
    const there = this.#row(scope, place, far);
    const back = this.#row(scope, far, place);
    if (there === null || back === null) return "no_price";
    const rows = there === back ? [there] : [there, back];
    if (scope !== "internet")
      return { sentPerByte: perByteOf(there), receivedPerByte: perByteOf(back), rows };
    const { out, in: arriving, per } = there;
    return { sentPerByte: out / UNITS[per], receivedPerByte: arriving / UNITS[per], rows };
  }

  #row(scope: Scope, from: Place, to: Place): PriceRow | null {
    const rows = this.#rows.get(groupOf(from.provider, scope)) ?? [];
    return (
      rows.find((row) => holds(row.from, from.region) && (row.to === null || holds(row.to, to.region))) ??
      null
    );
  }
}

function distinct(rows: readonly PriceRow[]): ReadonlyMap<string, PriceRow> {
  const byName = new Map<string, PriceRow>();
  const mistakes: string[] = [];
  for (const [index, row] of rows.entries()) {
    const name = rowName(row);
    const before = byName.get(name);
    if (before !== undefined) {
      const rule =
        perByteOf(before) === perByteOf(row) && before.currency === row.currency
          ? "must not stand twice"
          : "must not contradict a row before";
      mistakes.push(`prices[${index}] ${rule}, got ${name}`);
    }
    byName.set(name, row);
  }
  if (mistakes.length > 0) throw new PriceError(mistakes);
  return byName;
}

function groupOf(provider: string, scope: string): string {
  return `${provider} ${scope}`;
}

/** Most specific first, by source then destination region. */
function bySharpness(a: PriceRow, b: PriceRow): number {
  return sharpness(b.from) - sharpness(a.from) || sharpness(b.to ?? "*") - sharpness(a.to ?? "*");
}

function sharpness(pattern: string): number {
  return pattern.endsWith("*") ? pattern.length - 1 : pattern.length + 0.5;
}

function holds(pattern: string, region: string | null): boolean {
  if (!pattern.endsWith("*")) return pattern === region;
  return pattern === "*" || (region?.startsWith(pattern.slice(0, -1)) ?? false);
}

function perByteOf({ out, in: arriving, per }: PriceRow): number {
  return (out + arriving) / UNITS[per];
}

/** Returns null if labels are missing. A cluster without regions counts as one region. */
export function scopeOf(a: Place, b: Place): Scope | null {
  if (a.region !== b.region) return a.region === null || b.region === null ? null : "region-to-region";
  if (a.zone === null || b.zone === null) return null;
  return a.zone === b.zone ? "same-zone" : "zone-to-zone";
}
