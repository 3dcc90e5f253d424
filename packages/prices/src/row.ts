/** Billing provider; `own`: nodes of no known cloud. */
export const PROVIDERS = ["aws", "gcp", "azure", "own"] as const;
export type Provider = (typeof PROVIDERS)[number];

export const SCOPES = ["same-zone", "zone-to-zone", "region-to-region", "internet"] as const;
export type Scope = (typeof SCOPES)[number];

/** Price class of a destination outside the cluster. */
export interface Destination {
  readonly name: string;
  readonly scope: Scope;
  /** Null except between regions. */
  readonly region: string | null;
}

export const UNITS = { GB: 1e9, GiB: 2 ** 30 } as const;
type Unit = keyof typeof UNITS;

/** Price of traffic between regions or within one. */
export interface PriceRow {
  readonly provider: Provider;
  readonly scope: Scope;
  /** Source region; a trailing `*` matches prefixes. */
  readonly from: string;
  /** Destination region, likewise; null except between regions. */
  readonly to: string | null;
  /** Billed to the sender, per unit. */
  readonly out: number;
  readonly in: number;
  readonly per: Unit;
  readonly currency: string;
  /** Publication of the price. */
  readonly source: string;
  /** Newest day or month at which it is known to be listed, or `unknown`. */
  readonly date: string;
}

export function rowName({
  provider,
  scope,
  from,
  to,
}: Pick<PriceRow, "provider" | "scope" | "from" | "to">): string {
  return [provider, scope, from, ...(to === null ? [] : ["to", to])].join(" ");
}
