// Parses Services and EndpointSlices, and trims them for the cache.
import { deadlineOf, DISPATCH_ANNOTATIONS, isDispatched, unspreadReason } from "@isochrone/kubernetes";
import type { KubernetesObject, PodSpec, PodStatus, ServiceSpec } from "@isochrone/kubernetes";
import { definedOf, looseFields, looseList, looseText } from "@isochrone/primitives";
import type { PodView, Selector } from "../domain/pods.ts";
import type { EndpointSliceView, Speech } from "../ports/ports.ts";

export interface DispatchedService {
  readonly deadlineMs: number | null;
  readonly loadPath: string | null;
  readonly selector: Selector | null;
  /** Invalid annotations, in words for their author. */
  readonly faults: readonly string[];
  readonly ports: ReadonlyMap<number, { readonly name: string; readonly speaks: Speech }>;
}

/** Keyed by `appProtocol`; all others use HTTP/1.1. */
const SPEECHES: ReadonlyMap<string, Speech> = new Map([
  ...["kubernetes.io/h2c", "h2c", "grpc"].map((name) => [name, "http2"] as const),
  ...["https", "kubernetes.io/wss", "wss", "tls"].map((name) => [name, "tls"] as const),
]);
const LOAD_PATH = /^\/[\x21-\x7e]{0,255}$/;

/** Null if it didn't opt in, or has no endpoints of its own. */
export function dispatchedService(service: KubernetesObject): DispatchedService | null {
  if (!isDispatched(service) || unspreadReason(service) !== null) return null;
  const { annotations } = service.metadata;
  const { [DISPATCH_ANNOTATIONS.loadPath]: loadPath, [DISPATCH_ANNOTATIONS.deadline]: deadline } =
    annotations ?? {};
  const ports = looseList(looseFields<ServiceSpec>(service.spec).ports).flatMap(
    ({ name, port, protocol, appProtocol }) => {
      if (typeof port !== "number" || looseText(protocol) === "UDP") return [];
      const speaks = SPEECHES.get(looseText(appProtocol).toLowerCase()) ?? "http1";
      return [[port, { name: looseText(name), speaks }] as const];
    },
  );
  const deadlineMs = deadlineOf(annotations);
  const isPath = loadPath !== undefined && LOAD_PATH.test(loadPath);
  return {
    deadlineMs,
    loadPath: isPath ? loadPath : null,
    faults: [
      ...(deadlineMs === null && deadline !== undefined
        ? [`${DISPATCH_ANNOTATIONS.deadline} must be 1ms to 10s`]
        : []),
      ...(loadPath !== undefined && !isPath
        ? [`${DISPATCH_ANNOTATIONS.loadPath} must be a path of at most 256 characters`]
        : []),
    ],
    selector: selectorOf(service),
    ports: new Map(ports),
  };
}

function selectorOf({ spec }: KubernetesObject): Selector | null {
  const { selector } = looseFields<ServiceSpec>(spec);
  const labels = Object.entries(looseFields(selector)).map(
    ([key, value]) => [key, looseText(value)] as const,
  );
  return labels.length === 0 ? null : Object.fromEntries(labels);
}

export function sliceView(slice: KubernetesObject): EndpointSliceView {
  const ports = looseList(slice.ports).flatMap(({ name, port, protocol }) =>
    typeof port === "number" && looseText(protocol) !== "UDP" ? [[looseText(name), port] as const] : [],
  );
  return {
    family: looseText(slice.addressType),
    ports: new Map(ports),
    endpoints: looseList(slice.endpoints).flatMap((endpoint) => {
      const address = Array.isArray(endpoint.addresses) ? looseText(endpoint.addresses[0]) : "";
      if (address === "") return [];
      const { ready, serving, terminating } = looseFields(endpoint.conditions);
      const { kind, name, uid } = looseFields(endpoint.targetRef);
      return [
        {
          address,
          pod: kind === "Pod" ? looseText(name) || null : null,
          uid: looseText(uid) || null,
          zone: looseText(endpoint.zone) || null,
          ready: ready !== false && terminating !== true,
          serving: (serving ?? ready) !== false,
          terminating: terminating === true,
        },
      ];
    }),
  };
}

export function keptOfService(service: KubernetesObject): KubernetesObject {
  const { apiVersion, kind, metadata, spec } = service;
  const { name, namespace, uid, resourceVersion, annotations } = metadata;
  const bare = { name, ...definedOf({ namespace, uid, resourceVersion }) };
  if (!isDispatched(service)) return { apiVersion, kind, metadata: bare };
  const { clusterIP, type, internalTrafficPolicy, ports, selector } = looseFields<ServiceSpec>(spec);
  return {
    apiVersion,
    kind,
    metadata: { ...bare, ...definedOf({ annotations }) },
    spec: definedOf({ clusterIP, type, internalTrafficPolicy, ports, selector }),
  };
}

export function keptOfSlice({ apiVersion, kind, metadata, ...slice }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, labels } = metadata;
  const { addressType, ports } = slice;
  return {
    apiVersion,
    kind,
    metadata: { name, ...definedOf({ namespace, uid, resourceVersion, labels }) },
    addressType,
    ports,
    endpoints: looseList(slice.endpoints).map(({ addresses, conditions, zone, targetRef }) => ({
      addresses: Array.isArray(addresses) ? addresses.slice(0, 1) : [],
      ...definedOf({ conditions, zone, targetRef }),
    })),
  };
}

export function podOf({ metadata, spec, status }: KubernetesObject): PodView {
  const { phase, podIP, podIPs } = looseFields<PodStatus>(status);
  const addresses = [podIP, ...looseList<{ ip: unknown }>(podIPs).map(({ ip }) => ip)].map(looseText);
  return {
    uid: metadata.uid ?? "",
    node: looseText(looseFields<PodSpec>(spec).nodeName) || null,
    labels: metadata.labels ?? {},
    addresses: [...new Set(addresses.filter((address) => address !== ""))],
    isEnded: phase === "Succeeded" || phase === "Failed",
  };
}

export function keptOfPod({ apiVersion, kind, metadata, spec, status }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, labels } = metadata;
  const { phase, podIP, podIPs } = looseFields<PodStatus>(status);
  const { nodeName } = looseFields<PodSpec>(spec);
  return {
    apiVersion,
    kind,
    metadata: { name, ...definedOf({ namespace, uid, resourceVersion, labels }) },
    spec: definedOf({ nodeName }),
    status: definedOf({ phase, podIP, podIPs }),
  };
}
