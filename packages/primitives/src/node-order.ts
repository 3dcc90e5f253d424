// Display order of nodes: by region, zone and name, numbers by value.
export const NO_ZONE = "no zone";
export const NO_REGION = "no region";

const collator = new Intl.Collator("en", { numeric: true });

export function naturally(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

interface Placed {
  readonly name: string;
  readonly zone: string | null;
  readonly region: string | null;
}

export function byPlace(a: Placed, b: Placed): number {
  return (
    naturally(a.region ?? NO_REGION, b.region ?? NO_REGION) ||
    naturally(a.zone ?? NO_ZONE, b.zone ?? NO_ZONE) ||
    naturally(a.name, b.name)
  );
}
