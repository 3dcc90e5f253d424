// Endpoints that receive a node's requests to a Service, derived from EndpointSlices as kube-proxy does.
import { readyEndpoints, serviceOfSlice } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";
import type { ServiceEndpoints } from "../controllers/endpoints.ts";

interface SliceEndpoint {
  readonly pod: string;
  readonly forNodes: readonly string[];
  readonly forZones: readonly string[];
}

interface Place {
  readonly node: string;
  readonly zone: string;
}

/** Endpoints per Service in slices, as hints allow for the place. Pods without an entry get no requests. */
export function endpointsFor(
  services: readonly ServiceEndpoints[],
  slices: readonly KubernetesObject[],
  place: Place,
): ServiceEndpoints[] {
  const ofService = Map.groupBy(
    slices,
    (slice) => `${slice.metadata.namespace ?? "default"}/${serviceOfSlice(slice) ?? ""}`,
  );
  return services.map((each) => {
    const own = ofService.get(`${each.namespace}/${each.service}`) ?? [];
    const chosen = new Set(byHints(own.flatMap(endpointsIn), place).map(({ pod }) => pod));
    return { ...each, endpoints: each.endpoints.filter(({ identity }) => chosen.has(identity.pod)) };
  });
}

/** Applies hints if every endpoint has one and one matches: nodes first, then zones. Else returns all. */
export function byHints<T extends Pick<SliceEndpoint, "forNodes" | "forZones">>(
  endpoints: readonly T[],
  { node, zone }: Place,
): readonly T[] {
  const kinds = [
    [(endpoint: T) => endpoint.forNodes, node],
    [(endpoint: T) => endpoint.forZones, zone],
  ] as const;
  for (const [hints, here] of kinds) {
    if (endpoints.some((endpoint) => hints(endpoint).length === 0)) continue;
    const mine = endpoints.filter((endpoint) => hints(endpoint).includes(here));
    if (mine.length > 0) return mine;
  }
  return endpoints;
}

function endpointsIn(slice: KubernetesObject): SliceEndpoint[] {
  const endpoints = looseList(slice.endpoints);
  return readyEndpoints(slice).map(({ index }) => {
    const { targetRef, hints } = endpoints[index]!;
    const { forNodes, forZones } = looseFields<{ forNodes: object[]; forZones: object[] }>(hints);
    return {
      pod: looseText(looseFields<{ name: string }>(targetRef).name),
      forNodes: namesIn(forNodes),
      forZones: namesIn(forZones),
    };
  });
}

function namesIn(list: unknown): string[] {
  return looseList<{ name: string }>(list).map(({ name }) => looseText(name));
}
