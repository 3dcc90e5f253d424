import { definedOf, looseFields, looseList, looseText } from "@isochrone/primitives";
import type { KubernetesObject } from "../kinds.ts";

const SERVICE_NAME = "kubernetes.io/service-name";
const MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
/** Name of Kubernetes' own controller, for Services with a selector. */
const OWN_CONTROLLER = "endpointslice-controller.k8s.io";

interface ReadyEndpoint {
  readonly index: number;
  readonly id: string;
  /** Zone of its node. Null: none. */
  readonly zone: string | null;
  readonly pod: string | null;
}

export function serviceOfSlice({ metadata }: KubernetesObject): string | null {
  return metadata.labels?.[SERVICE_NAME] ?? null;
}

export function isOwnSlice({ metadata }: KubernetesObject): boolean {
  return metadata.labels?.[MANAGED_BY] === OWN_CONTROLLER;
}

export function addressTypeOf(slice: KubernetesObject): string {
  return looseText(slice.addressType);
}

/** Returns ready endpoints. An endpoint is ready unless it says otherwise. */
export function readyEndpoints(slice: KubernetesObject): ReadyEndpoint[] {
  return looseList(slice.endpoints).flatMap((endpoint, index) => {
    const { ready } = looseFields<{ ready: boolean }>(endpoint.conditions);
    const id = Array.isArray(endpoint.addresses) ? looseText(endpoint.addresses[0]) : "";
    if (ready === false || id === "") return [];
    const { kind, name } = looseFields<{ kind: string; name: string }>(endpoint.targetRef);
    const pod = kind === "Pod" ? looseText(name) : "";
    return [{ index, id, zone: looseText(endpoint.zone) || null, pod: pod || null }];
  });
}

/** Returns the hinted zones of each endpoint, sorted; empty: no hint. */
export function zonesHinted(slice: KubernetesObject): string[][] {
  return looseList(slice.endpoints).map((endpoint) => {
    const { forZones } = looseFields<{ forZones: object[] }>(endpoint.hints);
    return looseList<{ name: string }>(forZones)
      .map(({ name }) => looseText(name))
      .sort();
  });
}

/** Cached part of a slice, of which there may be thousands. */
export function trimmedSlice({ apiVersion, kind, metadata, ...slice }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, labels, annotations } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, ...definedOf({ namespace, uid, resourceVersion, labels, annotations }) },
    addressType: slice.addressType,
    endpoints: looseList(slice.endpoints).map(({ addresses, conditions, zone, hints, targetRef }) => ({
      addresses: Array.isArray(addresses) ? addresses.slice(0, 1) : [],
      ...definedOf({ conditions, zone, hints, targetRef: namedRef(targetRef) }),
    })),
  };
}

function namedRef(targetRef: unknown): object | undefined {
  const { kind, name } = looseFields(targetRef);
  return name === undefined ? undefined : { kind, name };
}
