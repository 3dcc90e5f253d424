/** Code unit order: the same on every replica, whatever its locale. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Order of the cluster graph's links: by source, target, method and IP family. */
export function compareLinks(a: LinkIdentity, b: LinkIdentity): number {
  return (
    compareText(a.source, b.source) ||
    compareText(a.target, b.target) ||
    compareText(a.method, b.method) ||
    a.ipFamily - b.ipFamily
  );
}

interface LinkIdentity {
  readonly source: string;
  readonly target: string;
  readonly method: string;
  readonly ipFamily: number;
}
