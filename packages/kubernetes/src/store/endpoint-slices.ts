// What is read of EndpointSlices: who serves a Service, and where.
import { definedOf, looseFields, looseList, looseText } from "@isochrone/primitives";
import type { KubernetesObject } from "../kinds.ts";

/** Labels of an EndpointSlice. */
const SERVICE_NAME = "kubernetes.io/service-name";
const MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
/** Kubernetes' own controller, which follows a Service's selector. */
const OWN_CONTROLLER = "endpointslice-controller.k8s.io";

/** An endpoint that takes requests. */
interface ReadyEndpoint {
  /** Its place in the slice. */
  readonly index: number;
  /** Its first address. */
  readonly id: string;
  /** Null: its node names none. */
  readonly zone: string | null;
  /** Name of its pod, in the slice's namespace; null: it is none's. */
  readonly pod: string | null;
}

/** The Service that a slice is of; null: none. */
export function serviceOfSlice({ metadata }: KubernetesObject): string | null {
  return metadata.labels?.[SERVICE_NAME] ?? null;
}

/** Whether Kubernetes' own controller writes the slice. */
export function isOwnSlice({ metadata }: KubernetesObject): boolean {
  return metadata.labels?.[MANAGED_BY] === OWN_CONTROLLER;
}

/** IPv4, IPv6 or FQDN. */
export function addressTypeOf(slice: KubernetesObject): string {
  return looseText(slice.addressType);
}

/** An endpoint is ready unless it says that it isn't. */
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

/** By place in the slice, for which zones each endpoint has a hint, sorted; empty: it has none. */
export function zonesHinted(slice: KubernetesObject): string[][] {
  return looseList(slice.endpoints).map((endpoint) => {
    const { forZones } = looseFields<{ forZones: object[] }>(endpoint.hints);
    return looseList<{ name: string }>(forZones)
      .map(({ name }) => looseText(name))
      .sort();
  });
}

/** What is kept of a slice, of which there may be thousands: who takes requests, where, and hints. */
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
