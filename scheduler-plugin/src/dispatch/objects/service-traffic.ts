import {
  evenWeights,
  hintedShares,
  zoneAdvice,
  type HintedEndpoint,
  type ZoneView,
  type ZoneWeights,
} from "@isochrone/dispatch/zones";
import { readyEndpoints, zonesHinted, type KubernetesObject } from "@isochrone/kubernetes";
import type { ServiceDemand, ServiceTraffic, ZoneTraffic } from "@isochrone/topology";
import type { OrderedService } from "./service-view.ts";

/** Distribution by the existing hints; without hints even, as kube-proxy does. */
export function sharesNow(
  view: ZoneView,
  endpoints: readonly HintedEndpoint[],
  slices: readonly KubernetesObject[],
): ZoneWeights {
  const hints = new Map(
    slices.flatMap((slice) => {
      const zones = zonesHinted(slice);
      return readyEndpoints(slice).map(({ id, index }) => [id, zones[index]!] as const);
    }),
  );
  const isHinted = endpoints.every(({ id }) => (hints.get(id) ?? []).length > 0);
  return isHinted ? hintedShares(view.zones, endpoints, hints) : evenWeights(view);
}

export function sharesOf(weights: ZoneWeights, zone: string): Readonly<Record<string, number>> {
  const shares = [...(weights.get(zone) ?? [])].filter(([, share]) => share >= 0.000_5);
  return Object.fromEntries(
    shares.sort(([, a], [, b]) => b - a).map(([to, share]) => [to, Number(share.toFixed(3))]),
  );
}

type SpreadOfService = Pick<ServiceTraffic, "deadlineMs" | "capacityPerSecond" | "abovePerSecond" | "zones">;

export function askedTraffic(demand: ServiceDemand | null): SpreadOfService {
  const zones = (demand?.zones ?? []).map(({ zone }) => zoneTraffic(zone, demand));
  return { deadlineMs: demand?.deadlineMs ?? null, capacityPerSecond: null, abovePerSecond: null, zones };
}

export function spreadTraffic(
  { view }: OrderedService,
  standing: ZoneWeights,
  demand: ServiceDemand | null,
): SpreadOfService {
  const found = zoneAdvice(view);
  const advice = "reason" in found ? null : found;
  const capacityPerSecond = advice?.capacityPerSecond ?? view.capacityPerSecond;
  const names = [...new Set([...view.zones, ...view.endpoints.keys()])].sort();
  const zones = names
    .map((zone): ZoneTraffic => {
      const endpoints = view.endpoints.get(zone) ?? 0;
      const serves = capacityPerSecond === null ? 0 : endpoints * capacityPerSecond;
      return {
        ...zoneTraffic(zone, demand),
        endpoints,
        loadRatio: serves > 0 ? askedOf(zone, view, standing) / serves : null,
        advisedLoadRatio: advice?.loads.get(zone)?.ofCapacity ?? null,
        now: sharesOf(standing, zone),
        advised: advice === null ? null : sharesOf(advice.weights, zone),
      };
    })
    .filter(({ requestsPerSecond, endpoints }) => requestsPerSecond > 0 || endpoints !== 0);
  const withoutZone = (demand?.zones ?? []).filter(({ zone }) => zone === null);
  return {
    deadlineMs: demand?.deadlineMs ?? null,
    capacityPerSecond,
    abovePerSecond: advice?.abovePerSecond ?? null,
    zones: [...zones, ...withoutZone.map(({ zone }) => zoneTraffic(zone, demand))],
  };
}

function askedOf(to: string, { zones, demand }: ZoneView, weights: ZoneWeights): number {
  return zones.reduce((sum, from) => sum + (demand.get(from) ?? 0) * (weights.get(from)?.get(to) ?? 0), 0);
}

function zoneTraffic(zone: string | null, demand: ServiceDemand | null): ZoneTraffic {
  const asked = demand?.zones.find((each) => each.zone === zone);
  return {
    zone,
    requestsPerSecond: asked?.requestsPerSecond ?? 0,
    inTimeRatio: asked?.inTimeRatio ?? null,
    p50Ms: asked?.latencyMs.p50 ?? null,
    endpoints: null,
    loadRatio: null,
    advisedLoadRatio: null,
    now: null,
    advised: null,
  };
}
