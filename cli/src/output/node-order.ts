// The order of nodes, everywhere: by region, zone and name, numbers by their value. The page's matrix has the same.
const collator = new Intl.Collator("en", { numeric: true });

/** node-2 before node-10. */
export function naturally(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

interface Placed {
  readonly name: string;
  readonly zone: string | null;
  readonly region: string | null;
}

/** For sorting; a node without a region or zone stands where the page has it, at "no region" and "no zone". */
export function byPlace(a: Placed, b: Placed): number {
  return (
    naturally(a.region ?? "no region", b.region ?? "no region") ||
    naturally(a.zone ?? "no zone", b.zone ?? "no zone") ||
    naturally(a.name, b.name)
  );
}
