import type { Path } from "../paths.ts";

interface WithPath {
  readonly path: Path;
}

/** Bits per second by flow: each link is shared equally, and a flow gets the minimum over its links. */
export function equalShares(flows: readonly WithPath[], capacities: Float64Array): Float64Array {
  const users = new Int32Array(capacities.length);
  for (const { path } of flows) for (const hop of path.hops) users[hop]!++;
  return Float64Array.from(flows, ({ path }) =>
    path.hops.reduce((least, hop) => Math.min(least, capacities[hop]! / users[hop]!), Infinity),
  );
}

/** Bits per second by flow: max-min fairness (Bertsekas 1992, section 6.5.2), the outcome of TCP. */
export function maxMinShares(flows: readonly WithPath[], capacities: Float64Array): Float64Array {
  const left = capacities.slice();
  const users = new Int32Array(left.length);
  for (const { path } of flows) for (const hop of path.hops) users[hop]!++;
  const rates = new Float64Array(flows.length).fill(Infinity);
  let open = flows.map((_, at) => at).filter((at) => flows[at]!.path.hops.length > 0);
  while (open.length > 0) {
    const [narrowest, share] = narrowestLink(left, users);
    const isOn = (at: number): boolean => flows[at]!.path.hops.includes(narrowest);
    for (const at of open.filter(isOn)) {
      rates[at] = share;
      for (const hop of flows[at]!.path.hops) {
        left[hop] = Math.max(0, left[hop]! - share);
        users[hop]!--;
      }
    }
    open = open.filter((at) => !isOn(at));
  }
  return rates;
}

function narrowestLink(left: Float64Array, users: Int32Array): [number, number] {
  let narrowest = -1;
  let share = Infinity;
  for (let link = 0; link < left.length; link++) {
    if (users[link] === 0 || left[link]! / users[link]! >= share) continue;
    narrowest = link;
    share = left[link]! / users[link]!;
  }
  return [narrowest, share];
}
