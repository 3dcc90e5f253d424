// Zone weights of a Service from rates alone. A zone with several spellings, missing endpoints or missing
// requests yield a reason instead.
import { weightsOf } from "../weights.ts";

export interface ZoneView {
  readonly zones: readonly string[];
  readonly demand: ReadonlyMap<string, number>;
  readonly endpoints: ReadonlyMap<string, number>;
  /** Requests/s that one endpoint serves; null if not set. */
  readonly capacityPerSecond: number | null;
  /** Least share of a zone's requests that stays in it, 0 to 1. */
  readonly minLocalShare: number;
  /** Null if unknown. */
  readonly rttMs: (from: string, to: string) => number | null;
}

/** Share per destination zone, keyed by calling zone; the shares of a zone add up to 1. */
export type ZoneWeights = ReadonlyMap<string, ReadonlyMap<string, number>>;

interface ZoneAdvice {
  readonly weights: ZoneWeights;
  readonly capacityPerSecond: number;
  readonly loads: ReadonlyMap<string, { readonly perSecond: number; readonly ofCapacity: number }>;
  /** Requests/s above total capacity; 0 if there is room. */
  readonly abovePerSecond: number;
}

export interface NoWeights {
  readonly reason: "no_zones" | "zone_case" | "no_endpoints" | "no_requests";
  readonly message: string;
}

/** Capacity per endpoint over its even share: zones stay local until one has a quarter more. */
const HEADROOM = 1.25;

export function zoneAdvice(view: ZoneView): ZoneAdvice | NoWeights {
  const fault = faultOf(view);
  if (fault !== null) return fault;
  const { zones, demand, endpoints, rttMs, minLocalShare } = view;
  const asked = new Map(zones.map((zone) => [zone, demand.get(zone) ?? 0]));
  const serving = [...endpoints].filter(([, count]) => count > 0);
  const total = sum(asked.values());
  const capacityPerSecond = view.capacityPerSecond ?? (HEADROOM * total) / sum(endpoints.values());
  const { sites } = weightsOf({
    demand: asked,
    targets: serving.map(([site, count]) => ({ site, capacityPerSecond: count * capacityPerSecond })),
    rttSeconds: (from, to) => {
      const ms = rttMs(from, to);
      return ms === null ? null : ms / 1000;
    },
  });
  const weights = new Map(
    sites.map(({ site, shares }) => {
      const targets = new Map(serving.map(([zone], index) => [zone, shares[index]!]));
      return [site, withLeastLocal(targets, site, minLocalShare)];
    }),
  );
  const loads = new Map(
    serving.map(([zone, count]) => {
      const perSecond = zones.reduce(
        (load, from) => load + asked.get(from)! * weights.get(from)!.get(zone)!,
        0,
      );
      return [zone, { perSecond, ofCapacity: perSecond / (count * capacityPerSecond) }];
    }),
  );
  return { weights, capacityPerSecond, loads, abovePerSecond: sum(sites.map((each) => each.abovePerSecond)) };
}

export function evenWeights({ zones, endpoints }: Pick<ZoneView, "zones" | "endpoints">): ZoneWeights {
  const total = sum(endpoints.values());
  const even = new Map(Array.from(endpoints, ([zone, count]) => [zone, total === 0 ? 0 : count / total]));
  return new Map(zones.map((zone) => [zone, even]));
}

function faultOf({ zones, demand, endpoints }: ZoneView): NoWeights | null {
  if (zones.length === 0) return { reason: "no_zones", message: "no node names its zone" };
  const names = [...new Set([...zones, ...demand.keys(), ...endpoints.keys()])];
  const byLower = new Map<string, string>();
  for (const zone of names) {
    const other = byLower.get(zone.toLowerCase());
    if (other !== undefined)
      return { reason: "zone_case", message: `zones ${other} and ${zone} differ in case alone` };
    byLower.set(zone.toLowerCase(), zone);
  }
  if (sum(endpoints.values()) === 0) return { reason: "no_endpoints", message: "there is no ready endpoint" };
  if (!(sum(demand.values()) > 0))
    return { reason: "no_requests", message: "no request of a known zone was counted" };
  return null;
}

function withLeastLocal(
  targets: ReadonlyMap<string, number>,
  own: string,
  least: number,
): Map<string, number> {
  const local = targets.get(own);
  if (local === undefined || local >= least) return new Map(targets);
  const others = (1 - least) / (1 - local);
  return new Map(Array.from(targets, ([zone, share]) => [zone, zone === own ? least : share * others]));
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
