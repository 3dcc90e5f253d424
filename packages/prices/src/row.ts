/** Who bills; `own`: whoever runs nodes of no cloud that is known here. */
export const PROVIDERS = ["aws", "gcp", "azure", "own"] as const;
export type Provider = (typeof PROVIDERS)[number];

/** How far bytes go. */
export const SCOPES = ["same-zone", "zone-to-zone", "region-to-region", "internet"] as const;
export type Scope = (typeof SCOPES)[number];

/** How far it is to a destination outside of the cluster. */
export interface Destination {
  readonly name: string;
  readonly scope: Scope;
  /** Where it is; null except between regions. */
  readonly region: string | null;
}

/** Bytes of the units that price pages use. */
export const UNITS = { GB: 1e9, GiB: 2 ** 30 } as const;
type Unit = keyof typeof UNITS;

/** What bytes cost that go from a region to another, or stay in it. */
export interface PriceRow {
  readonly provider: Provider;
  readonly scope: Scope;
  /** The region that the bytes leave; with `*` at its end all regions that begin so. */
  readonly from: string;
  /** The region that they arrive in, likewise; null except between regions. */
  readonly to: string | null;
  /** Billed where they leave, for each unit. */
  readonly out: number;
  /** Billed where they arrive, for each unit. */
  readonly in: number;
  readonly per: Unit;
  /** ISO 4217. */
  readonly currency: string;
  /** Where the price is published. */
  readonly source: string;
  /** The newest day or month for which it is known to have been listed there, or `unknown`. */
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
