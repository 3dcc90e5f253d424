// Which endpoints of a Service get a zone's requests: what the EndpointSlice controller and kube-proxy make
// of trafficDistribution (KEP-2433, KEP-3015).

/** Where a ready endpoint of a Service is. */
export interface PlacedEndpoint {
  /** topology.kubernetes.io/zone of its node; null: it has none. */
  readonly zone: string | null;
}

/** Requests are shared evenly over all endpoints, or over those of the caller's zone. */
export type Distribution = "all" | "same-zone";

/**
 * Every ready endpoint has a hint for its own zone. Hints count where all ready endpoints have one and one is
 * for the caller's zone; otherwise its requests go to all ready endpoints of the cluster.
 * @param zone of the callers; null: their nodes have none
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
