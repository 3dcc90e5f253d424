// Unpriced bytes by missing part, and the bill as one sentence.
import type { Bill, BillReason } from "@isochrone/topology";
import type { PricedPair } from "./priced-pairs.ts";
import type { Provider } from "./row.ts";
import { scopeOf } from "./table.ts";

type Cause = Bill["unpriced"][number];

const MOST_CAUSES = 20;
const MOST_NAMED = 3;

const NO_ROW = { provider: null, scope: null, from: null, to: null, destination: null } as const;

export class Unpriced {
  readonly #causes = new Map<string, Cause>();
  /** Causes are derived lazily: bills add many channels but few pairs. */
  readonly #pairs = new Map<PricedPair, number>();

  add(bytesPerSecond: number, reason: BillReason): void {
    this.#add({ reason, ...NO_ROW, bytesPerSecond });
  }

  addPair(bytesPerSecond: number, pair: PricedPair): void {
    this.#pairs.set(pair, (this.#pairs.get(pair) ?? 0) + bytesPerSecond);
  }

  addOutside(bytesPerSecond: number, reason: BillReason, provider: Provider, destination: string): void {
    this.#add({ reason, ...NO_ROW, provider, destination, bytesPerSecond });
  }

  addAll(other: Unpriced): void {
    for (const cause of other.#causes.values()) this.#add(cause);
  }

  read(): Cause[] {
    for (const [pair, bytesPerSecond] of this.#pairs) this.#add({ ...pairCause(pair), bytesPerSecond });
    this.#pairs.clear();
    return [...this.#causes.values()]
      .toSorted((a, b) => b.bytesPerSecond - a.bytesPerSecond)
      .slice(0, MOST_CAUSES);
  }

  #add({ bytesPerSecond, ...cause }: Cause): void {
    const key = JSON.stringify(cause);
    const before = this.#causes.get(key)?.bytesPerSecond ?? 0;
    this.#causes.set(key, { ...cause, bytesPerSecond: before + bytesPerSecond });
  }
}

function pairCause({ from: a, to: b, price }: PricedPair): Omit<Cause, "bytesPerSecond"> {
  const reason = typeof price === "string" ? price : "no_price";
  const scope = scopeOf(a, b);
  if (reason !== "no_price" || scope === null || a.provider !== b.provider) return { reason, ...NO_ROW };
  const [from = null, to = null] = [a.region, b.region].toSorted((one, other) =>
    (one ?? "") < (other ?? "") ? -1 : 1,
  );
  const isFar = scope === "region-to-region";
  return { ...NO_ROW, reason, provider: a.provider, scope, from, to: isFar ? to : null };
}

type Summed = Pick<Bill, "currency" | "monthSeconds" | "total" | "unpriced">;

/** The bill in a sentence: money, covered share of bytes, and the remedy for the rest. */
export function headlineOf({ total, unpriced, currency, monthSeconds }: Summed): string {
  const { bytesPerSecond, perMonth, unpricedBytesPerSecond: lacking } = total;
  if (bytesPerSecond === null)
    return total.channels === 0 ? "no traffic is counted" : "cost unknown: no channel counts its bytes";
  const gigabytes = (perSecond: number): string => amountText((perSecond * monthSeconds) / 1e9);
  const all = gigabytes(bytesPerSecond);
  if (perMonth === null)
    return `cost unknown: none of ${all} GB a month has a price: ${remedyText(unpriced)}`;
  const money = `${moneyText(perMonth)} ${currency} a month`;
  if (lacking === 0) return `${money} for ${all} GB`;
  const without = `${gigabytes(lacking)} GB have no price: ${remedyText(unpriced)}`;
  return `${money} for ${gigabytes(bytesPerSecond - lacking)} of ${all} GB; ${without}`;
}

function remedyText(unpriced: readonly Cause[]): string {
  const texts = [...new Set(unpriced.map(causeText))];
  const others = texts.length - MOST_NAMED;
  return [...texts.slice(0, MOST_NAMED), ...(others > 0 ? [`${others} causes more`] : [])].join(", ");
}

const REASONS: Readonly<Record<BillReason, string>> = {
  direction: "each direction has a price of its own",
  no_bytes: "no source counts the bytes",
  no_pods: "an end has no pod on a node",
  no_price: "no row can price traffic between two providers",
  no_zone: "nodes lack a zone or region label",
  old: "their pods were replaced",
};

function causeText({ reason, provider, scope, from, to, destination }: Cause): string {
  if (destination === "unknown" && reason === "no_price") return "the other end is not known";
  if (destination !== null && reason === "no_price")
    return destination === "internet"
      ? `add a row \`internet\` for provider ${provider ?? "unknown"}`
      : `set scope and region of destination ${destination}, and a row for provider ${provider ?? "unknown"}`;
  if (scope === null) return REASONS[reason];
  const row = `add a row \`${scope}\` for provider ${provider ?? "unknown"}`;
  // One row for nodes of no cloud usually covers all regions.
  if (provider === "own" || from === null) return row;
  return to === null ? `${row} from ${from}` : `${row} from ${from} to ${to} and back`;
}

function moneyText(value: number): string {
  const size = Math.abs(value);
  return size === 0 || size >= 0.1 ? value.toFixed(2) : String(Number(value.toPrecision(2)));
}

function amountText(value: number): string {
  return value >= 10 || value === 0 ? value.toFixed(0) : String(Number(value.toPrecision(2)));
}
