// Weights of a Service, stored on its EndpointSlices. The webhook derives hints from them, and a new leader
// continues from them.
import type { ZonePlan } from "@isochrone/dispatch/zones";
import { looseFields, parseJson } from "@isochrone/primitives";

/**
 * Annotation of an EndpointSlice: a JSON object with the requests per second of each calling zone and their
 * shares for the zones of the endpoints.
 */
export const PLAN_ANNOTATION = "isochrone.dev/zone-weights";

/** Fits the largest plan: eight zones with long names. */
const MAX_CHARACTERS = 32 * 1024;
const DIGITS = 3;
const TOLERANCE = 0.02;

export function planText({ weights, demand }: ZonePlan): string {
  const zones = Array.from(weights, ([zone, shares]) => {
    const to = [...shares].filter(([, share]) => share > 0);
    return [
      zone,
      {
        requestsPerSecond: rounded(demand.get(zone) ?? 0),
        to: Object.fromEntries(to.map(([target, share]) => [target, rounded(share)])),
      },
    ] as const;
  });
  return JSON.stringify(Object.fromEntries(zones));
}

/** Returns null unless each zone's weights are numbers from 0 that add up to 1. */
export function readPlan(text: string | undefined): ZonePlan | null {
  if (text === undefined || text.length > MAX_CHARACTERS) return null;
  const weights = new Map<string, ReadonlyMap<string, number>>();
  const demand = new Map<string, number>();
  for (const [zone, said] of Object.entries(looseFields(parsed(text)))) {
    const { requestsPerSecond, to } = looseFields(said);
    const shares = sharesOf(to);
    if (shares === null || !isAmount(requestsPerSecond)) return null;
    weights.set(zone, shares);
    demand.set(zone, requestsPerSecond);
  }
  return weights.size === 0 ? null : { weights, demand };
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

function sharesOf(said: unknown): ReadonlyMap<string, number> | null {
  const shares = new Map<string, number>();
  let total = 0;
  for (const [zone, share] of Object.entries(looseFields(said))) {
    if (!isAmount(share)) return null;
    total += share;
    shares.set(zone, share);
  }
  return Math.abs(total - 1) <= TOLERANCE ? shares : null;
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function rounded(value: number): number {
  return Number(value.toFixed(DIGITS));
}
