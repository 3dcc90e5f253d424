import type { ServiceTraffic, TrafficSnapshot, ZoneTraffic } from "@isochrone/topology";
import { figure } from "../model/format.ts";

type State = "warn" | "bad";

interface Trouble {
  readonly state: State;
  readonly words: string;
}

const FULL = 1 - 1e-6;
/** Smaller differences of shares are not shown. */
const SAME_SHARE = 0.005;

export function requestsOf({ zones }: Pick<ServiceTraffic, "zones">): number {
  return zones.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
}

export function headroomOf(service: Pick<ServiceTraffic, "zones" | "capacityPerSecond">): number | null {
  const { zones, capacityPerSecond } = service;
  const endpoints = zones.reduce<number | null>(
    (sum, zone) => (zone.endpoints === null ? sum : (sum ?? 0) + zone.endpoints),
    null,
  );
  if (capacityPerSecond === null || endpoints === null) return null;
  return endpoints * capacityPerSecond - requestsOf(service);
}

export function troubleOf({ state, message, abovePerSecond, zones }: ServiceTraffic): Trouble | null {
  if (state === "refused") return { state: "bad", words: message ?? "its requests can't be spread" };
  if (abovePerSecond !== null && abovePerSecond > 0)
    return {
      state: "bad",
      words: `${figure(abovePerSecond)} requests/s are above the capacity of all endpoints`,
    };
  if (state === "stale") return { state: "warn", words: message ?? "the demand of zones is stale" };
  const full = zones.filter(({ loadRatio }) => loadRatio !== null && loadRatio > 1 / FULL);
  return full.length === 0
    ? null
    : { state: "warn", words: `${full.map(({ zone }) => zone ?? "?").join(", ")}: full, others have room` };
}

export function inOrder(services: readonly ServiceTraffic[]): ServiceTraffic[] {
  const place = (service: ServiceTraffic): number => {
    const trouble = troubleOf(service);
    return trouble === null ? 2 : trouble.state === "warn" ? 1 : 0;
  };
  return services.toSorted(
    (a, b) =>
      place(a) - place(b) || requestsOf(b) - requestsOf(a) || (trafficName(a) < trafficName(b) ? -1 : 1),
  );
}

export function trafficName({ namespace, name }: Pick<ServiceTraffic, "name" | "namespace">): string {
  return `${namespace}/${name}`;
}

export function callersOf({ zones }: ServiceTraffic): ZoneTraffic[] {
  return zones.filter(({ requestsPerSecond }) => requestsPerSecond > 0);
}

export interface ServingZone extends ZoneTraffic {
  readonly zone: string;
  readonly endpoints: number;
}

export function serversOf({ zones }: ServiceTraffic): ServingZone[] {
  return zones.flatMap((each) => {
    const { zone, endpoints } = each;
    return zone === null || endpoints === null || endpoints === 0 ? [] : [{ ...each, zone, endpoints }];
  });
}

interface Cell {
  readonly now: number;
  /** Null: no advice, or equal. */
  readonly advised: number | null;
  readonly isOwn: boolean;
}

/** Share of a caller's requests to a zone; null: unknown. */
export function cellOf(caller: ZoneTraffic, to: string): Cell | null {
  if (caller.now === null) return null;
  const now = caller.now[to] ?? 0;
  const advised = caller.advised === null ? null : (caller.advised[to] ?? 0);
  return {
    now,
    advised: advised === null || Math.abs(advised - now) < SAME_SHARE ? null : advised,
    isOwn: caller.zone === to,
  };
}

interface Totals {
  readonly requestsPerSecond: number;
  readonly inTimeRatio: number | null;
  readonly spread: number;
  readonly troubled: number;
}

export function totals({ services }: Pick<TrafficSnapshot, "services">): Totals {
  let [requestsPerSecond, timed, inTime, spread, troubled] = [0, 0, 0, 0, 0];
  for (const service of services) {
    requestsPerSecond += requestsOf(service);
    if (service.lever !== null) spread++;
    if (troubleOf(service) !== null) troubled++;
    for (const { inTimeRatio, requestsPerSecond: asked } of service.zones) {
      if (inTimeRatio === null) continue;
      timed += asked;
      inTime += asked * inTimeRatio;
    }
  }
  return { requestsPerSecond, inTimeRatio: timed > 0 ? inTime / timed : null, spread, troubled };
}
