// Reads OpenCost price files (configs/default.json and similar).
import { isRecord, looseFields } from "@isochrone/primitives";
import { shown } from "./errors.ts";
import { PROVIDERS, type PriceRow, type Scope } from "./row.ts";

/** OpenCost bills outgoing traffic per GiB, independent of node locations. */
const FIELDS: readonly (readonly [field: string, scope: Scope])[] = [
  ["zoneNetworkEgress", "zone-to-zone"],
  ["regionNetworkEgress", "region-to-region"],
  ["internetNetworkEgress", "internet"],
];

/** Finds OpenCost prices: the object itself, or a file in a ConfigMap; null: neither. */
export function openCostPrices(json: unknown): Readonly<Record<string, unknown>> | null {
  if (!isRecord(json)) return null;
  if (FIELDS.some(([field]) => Object.hasOwn(json, field))) return json;
  const { kind, data } = looseFields<Record<"data" | "kind", unknown>>(json);
  if (kind !== "ConfigMap") return null;
  for (const text of Object.values(looseFields(data))) {
    const found = typeof text === "string" ? openCostPrices(parsed(text)) : null;
    if (found !== null) return found;
  }
  return null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Bytes within a zone are free in OpenCost. Omitted prices are unknown. Adds faults to `mistakes`. */
export function openCostRows(
  prices: Readonly<Record<string, unknown>>,
  maxPrice: number,
  mistakes: string[],
): PriceRow[] {
  const { currencyCode = "USD", description } = prices;
  if (typeof currencyCode !== "string" || !/^[A-Z]{3}$/.test(currencyCode)) {
    mistakes.push(`currencyCode must be a currency's three letters, as USD, got ${shown(currencyCode)}`);
    return [];
  }
  const about = typeof description === "string" ? `: ${description}`.slice(0, 400) : "";
  const rowsOf = (scope: Scope, out: number): PriceRow[] =>
    PROVIDERS.map((provider) => ({
      provider,
      scope,
      from: "*",
      to: scope === "region-to-region" ? "*" : null,
      out,
      in: 0,
      per: "GiB",
      currency: currencyCode,
      source: `OpenCost's prices${about}`,
      date: "unknown",
    }));
  const rows = FIELDS.flatMap(([field, scope]) => {
    const value = prices[field];
    if (value === undefined || value === null || value === "") return [];
    const price = typeof value === "string" ? Number(value.trim() || "x") : value;
    if (typeof price === "number" && price >= 0 && price <= maxPrice) return rowsOf(scope, price);
    mistakes.push(`${field} must be a number from 0 to ${maxPrice}, got ${shown(value)}`);
    return [];
  });
  return [...rowsOf("same-zone", 0), ...rows];
}
