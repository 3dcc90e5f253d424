import { METHODS, type Method } from "@isochrone/telemetry";

/** Code unit order, independent of the locale, so that all replicas agree. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export interface LinkIdentity {
  readonly source: string;
  readonly target: string;
  readonly method: Method;
  readonly ipFamily: number;
}

export type LinkOrder = (a: LinkIdentity, b: LinkIdentity) => number;

/** Sorts by source, target, method (`preferred` ones first, in order) and IP family. */
export function linkOrder(preferred: readonly Method[]): LinkOrder {
  const ranks = new Map([...new Set([...preferred, ...METHODS])].map((method, rank) => [method, rank]));
  return (a, b) =>
    compareText(a.source, b.source) ||
    compareText(a.target, b.target) ||
    ranks.get(a.method)! - ranks.get(b.method)! ||
    a.ipFamily - b.ipFamily;
}
