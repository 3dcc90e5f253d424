// Endpoint selection of the EndpointSlice controller and kube-proxy (KEP-2433, KEP-3015).

export interface PlacedEndpoint {
  readonly zone: string | null;
}

export type Distribution = "all" | "same-zone";

/**
 * Hints apply only if all ready endpoints have one and one matches the caller's zone.
 * @param zone null if the callers' nodes are unlabelled
 */
export function endpointsFor<E extends PlacedEndpoint>(
  endpoints: readonly E[],
  zone: string | null,
  distribution: Distribution,
): readonly E[] {
  if (distribution === "all" || zone === null) return endpoints;
  if (endpoints.some((endpoint) => endpoint.zone === null)) return endpoints;
  const own = endpoints.filter((endpoint) => endpoint.zone === zone);
  return own.length > 0 ? own : endpoints;
}
