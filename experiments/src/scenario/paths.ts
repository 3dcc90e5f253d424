type Links = readonly (readonly (number | null)[])[];

/** Connected components, as lists of positions. */
export function partsOf(links: Links): number[][] {
  const parts: number[][] = [];
  const seen = new Set<number>();
  for (const start of links.keys()) {
    if (seen.has(start)) continue;
    const part = [start];
    seen.add(start);
    for (const at of part)
      for (const next of links.keys())
        if (!seen.has(next) && (links[at]![next] ?? links[next]![at] ?? null) !== null) {
          seen.add(next);
          part.push(next);
        }
    parts.push(part.sort((a, b) => a - b));
  }
  return parts;
}

/** Shortest paths (Floyd-Warshall). */
export function shortestPaths(links: Links): number[][] {
  const best = links.map((row, at) => row.map((value, to) => (at === to ? 0 : (value ?? Infinity))));
  for (const via of best.keys())
    for (const from of best.keys())
      for (const to of best.keys()) {
        const sum = best[from]![via]! + best[via]![to]!;
        if (sum < best[from]![to]!) best[from]![to] = sum;
      }
  return best;
}
