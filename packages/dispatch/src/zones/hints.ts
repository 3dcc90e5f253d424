// Weights as EndpointSlice hints. A zone's kube-proxy spreads evenly over endpoints hinted for it, so a share
// is a number of endpoints. kube-proxy requires a hint on every ready endpoint.
import type { ZoneWeights } from "./zone-weights.ts";

export interface HintedEndpoint {
  readonly id: string;
  readonly zone: string;
}

export const MAX_HINTED_ZONES = 8;

export interface ZonePlan {
  readonly weights: ZoneWeights;
  readonly demand: ReadonlyMap<string, number>;
}

/** Sorted hinted zones by endpoint id; null if an endpoint would need too many. */
export function zoneHints(
  { weights, demand }: ZonePlan,
  endpoints: readonly HintedEndpoint[],
): ReadonlyMap<string, readonly string[]> | null {
  if (new Set([...weights.keys(), ...endpoints.map(({ zone }) => zone)]).size > MAX_HINTED_ZONES) return null;
  const byZone = Map.groupBy(inOrder(endpoints), ({ zone }) => zone);
  // Own zone first, so that every endpoint has a hint and every zone with endpoints has a destination.
  const hints = new Map(endpoints.map(({ id, zone }) => [id, new Set([zone])]));
  for (const [zone, targets] of [...weights].sort(byName))
    for (const [target, count] of foreignCounts(zone, targets, byZone))
      for (const { id } of leastAsked(byZone.get(target)!, hints).slice(0, count)) hints.get(id)!.add(zone);
  for (const [zone, own] of byZone) spareOwn(zone, own, hints, demand);
  return new Map(Array.from(hints, ([id, zones]) => [id, [...zones].sort()]));
}

export function hintedShares(
  zones: Iterable<string>,
  endpoints: readonly HintedEndpoint[],
  hints: ReadonlyMap<string, readonly string[]>,
): ZoneWeights {
  return new Map(
    Array.from(zones, (zone) => {
      const asked = endpoints.filter(({ id }) => hints.get(id)?.includes(zone) === true);
      const used = asked.length === 0 ? endpoints : asked;
      const counts = new Map<string, number>();
      for (const { zone: to } of used) counts.set(to, (counts.get(to) ?? 0) + 1 / used.length);
      return [zone, counts];
    }),
  );
}

function foreignCounts(
  zone: string,
  targets: ReadonlyMap<string, number>,
  byZone: ReadonlyMap<string, readonly HintedEndpoint[]>,
): ReadonlyMap<string, number> {
  const own = byZone.get(zone)?.length ?? 0;
  const local = targets.get(zone) ?? 0;
  const others = [...targets].filter(([to, share]) => to !== zone && share > 0 && byZone.has(to));
  const size = (to: string): number => byZone.get(to)!.length;
  // Endpoints per share: from the own endpoints' share, or all endpoints.
  const scale =
    own > 0 && local > 0
      ? own / local
      : Math.min(...others.map(([to, share]) => size(to) / share), Number.MAX_SAFE_INTEGER);
  const wanted = others.map(([to, share]) => ({ to, exact: Math.min(size(to), share * scale) }));
  const counts = new Map(wanted.map(({ to, exact }) => [to, Math.floor(exact)]));
  let left = Math.round(wanted.reduce((total, { exact }) => total + exact - Math.floor(exact), 0));
  if (own === 0 && [...counts.values()].every((count) => count === 0)) left = Math.max(left, 1);
  const byRest = wanted.toSorted((a, b) => (b.exact % 1) - (a.exact % 1) || compare(a.to, b.to));
  for (const { to } of byRest.slice(0, left)) counts.set(to, Math.min(size(to), counts.get(to)! + 1));
  return counts;
}

/**
 * Endpoints hinted for other zones are busier than their neighbours. Removes their own zone's hint from as
 * many as minimise the highest load in the zone.
 */
function spareOwn(
  zone: string,
  own: readonly HintedEndpoint[],
  hints: Map<string, Set<string>>,
  demand: ReadonlyMap<string, number>,
): void {
  const foreign = own.filter(({ id }) => hints.get(id)!.size > 1);
  if (foreign.length === 0 || foreign.length === own.length) return;
  const askers = (asked: string): number => [...hints.values()].filter((zones) => zones.has(asked)).length;
  const elsewhere = askers(zone) - own.length;
  const loadOf = ({ id }: HintedEndpoint): number =>
    [...hints.get(id)!].reduce(
      (load, from) => (from === zone ? load : load + (demand.get(from) ?? 0) / askers(from)),
      0,
    );
  const busiest = foreign
    .map((endpoint) => ({ endpoint, load: loadOf(endpoint) }))
    .sort((a, b) => b.load - a.load || compare(a.endpoint.id, b.endpoint.id));
  const mine = demand.get(zone) ?? 0;
  const peak = (spared: number): number => {
    const each = mine / (own.length - spared + elsewhere);
    return Math.max(each + (busiest[spared]?.load ?? 0), ...busiest.slice(0, spared).map(({ load }) => load));
  };
  let best = 0;
  for (let spared = 1; spared <= busiest.length; spared++) if (peak(spared) < peak(best)) best = spared;
  for (const { endpoint } of busiest.slice(0, best)) hints.get(endpoint.id)!.delete(zone);
}

function leastAsked(
  endpoints: readonly HintedEndpoint[],
  hints: ReadonlyMap<string, ReadonlySet<string>>,
): HintedEndpoint[] {
  return endpoints.toSorted((a, b) => hints.get(a.id)!.size - hints.get(b.id)!.size);
}

/** Ordered by hash, because neighbours in a slice are often on one node. */
function inOrder(endpoints: readonly HintedEndpoint[]): HintedEndpoint[] {
  return endpoints
    .map((endpoint) => ({ endpoint, at: hashOf(endpoint.id) }))
    .sort((a, b) => a.at - b.at || compare(a.endpoint.id, b.endpoint.id))
    .map(({ endpoint }) => endpoint);
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  return hash;
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return compare(a, b);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
