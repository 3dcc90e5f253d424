// How much each zone's callers send, where that was counted: they rarely all send alike.
import type { Channel, Demand, PodPlacement } from "@isochrone/topology";
import type { Place, PlaceOf } from "./place.ts";

/** How much more than an even share a caller of a place sends. */
export type WeightOf = (place: Place) => number;

/** A channel with the pods that it begins at. */
interface Calls {
  readonly channel: Pick<Channel, "requestsPerSecond">;
  readonly callers: readonly PodPlacement[];
}

type ServiceDemand = Demand["services"][number];

/**
 * By what zones ask of a Service, over what they would ask if all callers of a workload sent alike. Null
 * where a caller's requests aren't counted: then nothing is known of who asks more.
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
