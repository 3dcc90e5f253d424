/** Elides a long name's middle: node pools share their beginnings, domains their ends. */
export function shorten(name: string, maxCharacters: number): string {
  if (name.length <= maxCharacters) return name;
  const tail = Math.floor((maxCharacters - 1) / 2);
  return `${name.slice(0, maxCharacters - 1 - tail)}…${name.slice(name.length - tail)}`;
}

/**
 * Unique short node names: without a common domain, middles elided. Names stay whole if shortening makes them
 * equal.
 */
export function shortNames(names: readonly string[], maxCharacters: number): ReadonlyMap<string, string> {
  const domains = new Set(names.map(domainOf).filter((domain) => domain !== ""));
  const [domain = ""] = domains.size === 1 ? domains : [];
  const short = names.map((name) => {
    const host = domain !== "" && name.endsWith(domain) ? name.slice(0, -domain.length) : name;
    return shorten(host, maxCharacters);
  });
  const uses = new Map<string, number>();
  for (const name of short) uses.set(name, (uses.get(name) ?? 0) + 1);
  return new Map(names.map((name, index) => [name, uses.get(short[index]!) === 1 ? short[index]! : name]));
}

function domainOf(name: string): string {
  const dot = name.indexOf(".");
  // An IP address has no domain.
  return dot <= 0 || /^[\d.]+$/.test(name) ? "" : name.slice(dot);
}
