// Six nodes in three zones, one of which can become distant, and three workloads.

export const ZONES: Readonly<Record<string, string>> = {
  n0: "za",
  n1: "za",
  n2: "zb",
  n3: "zb",
  n4: "zc",
  n5: "zc",
};
export const REPLICAS: Readonly<Record<string, number>> = { web: 2, api: 2, db: 1 };
export const CHANNELS = [
  ["web", "api", 100_000],
  ["api", "db", 300_000],
] as const;

/** 1 ms within a zone, 2 ms between zones, and 60 ms to and from `far`. */
export function farAway(far: string): (a: string, b: string) => number {
  return (a, b) => {
    const [x, y] = [ZONES[a]!, ZONES[b]!];
    if (x === y) return 1;
    return x === far || y === far ? 60 : 2;
  };
}
