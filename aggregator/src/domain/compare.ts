import { METHODS, type Method } from "@isochrone/telemetry";

/** Code unit order: the same on every replica, whatever its locale. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** What tells links apart. */
export interface LinkIdentity {
  readonly source: string;
  readonly target: string;
  readonly method: Method;
  readonly ipFamily: number;
}

/** A total order of links; negative when `a` comes first. */
export type LinkOrder = (a: LinkIdentity, b: LinkIdentity) => number;

/**
 * Order of the cluster graph's links: by source, target, method and IP family. Methods come as `preferred`
 * has them, so that a pair's first link is the one that its cost comes from; those that it doesn't name
 * follow.
 */
export function linkOrder(preferred: readonly Method[]): LinkOrder {
  const ranks = new Map([...new Set([...preferred, ...METHODS])].map((method, rank) => [method, rank]));
  return (a, b) =>
    compareText(a.source, b.source) ||
    compareText(a.target, b.target) ||
    ranks.get(a.method)! - ranks.get(b.method)! ||
    a.ipFamily - b.ipFamily;
}
