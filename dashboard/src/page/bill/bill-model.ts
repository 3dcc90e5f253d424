import type { BillAmount, BillReason, BillZone } from "@isochrone/topology";
import { bytesPerSecond, UNKNOWN } from "../model/format.ts";

/** Cents; smaller amounts with two significant digits. Unknown is a dash, never 0. */
export function money(value: number | null): string {
  if (value === null) return UNKNOWN;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 0.1) return size < 1e-6 ? "< 0.000001" : String(Number(value.toPrecision(2)));
  return value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

export function objectName({
  namespace,
  name,
}: {
  readonly namespace: string;
  readonly name: string;
}): string {
  return `${namespace}/${name}`;
}

export function zoneText({ provider, region, zone }: BillZone): string {
  return zone ?? `no zone (${region ?? provider})`;
}

const REASONS: Readonly<Record<BillReason, string>> = {
  direction: "each direction has a price of its own",
  no_bytes: "nobody counts its bytes",
  no_pods: "an end has no pod on a node",
  no_price: "no price is known for these zones",
  no_zone: "a node has no zone or region",
  old: "remembered from before its pods were replaced",
};

type Line = Pick<BillAmount, "perMonth" | "unpricedBytesPerSecond"> & { readonly unknown: BillReason | null };

export function remarkText({ perMonth, unpricedBytesPerSecond: lacking, unknown }: Line): string {
  if (unknown === null) return "";
  if (perMonth === null) return REASONS[unknown];
  return lacking === 0 ? "a part is not counted" : `without ${bytesPerSecond(lacking)} that have no price`;
}
