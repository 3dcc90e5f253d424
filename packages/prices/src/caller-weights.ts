// Measured traffic per caller zone, since callers rarely send evenly.
import type { Channel, Demand, PodPlacement } from "@isochrone/topology";
import type { Place, PlaceOf } from "./place.ts";

/** A caller's traffic relative to an even share, by place. */
export type WeightOf = (place: Place) => number;

interface Calls {
  readonly channel: Pick<Channel, "requestsPerSecond">;
  readonly callers: readonly PodPlacement[];
}

type ServiceDemand = Demand["services"][number];

/**
 * Zone requests to a Service relative to even sending by all callers of a workload. Null if requests are not
 * counted.
 * @param calls all channels to the Service's workload
 */
export function callerWeights(
  { zones }: Pick<ServiceDemand, "zones">,
  calls: readonly Calls[],
  placeOf: PlaceOf,
): WeightOf | null {
  const even = new Map<string | null, number>();
  for (const { channel, callers } of calls) {
    const { requestsPerSecond } = channel;
    if (requestsPerSecond === null) return null;
    const places = callers.flatMap(({ node }) => (node === null ? [] : (placeOf(node) ?? [])));
    for (const { zone } of places) even.set(zone, (even.get(zone) ?? 0) + requestsPerSecond / places.length);
  }
  const asked = new Map(zones.map(({ zone, requestsPerSecond }) => [zone, requestsPerSecond]));
  return ({ zone }) => {
    const expected = even.get(zone) ?? 0;
    return expected > 0 ? (asked.get(zone) ?? 0) / expected : 0;
  };
}
