import { deadlineOf, DISPATCH_ANNOTATIONS, templateLabels } from "@isochrone/kubernetes/basics";
import type { KubernetesObject, ServiceSpec } from "@isochrone/kubernetes";
import type { RoutingScope } from "@isochrone/topology";
import { definedOf, looseFields, looseText } from "@isochrone/primitives";
import { fullName } from "../domain/cluster-state.ts";
import { DestinationRules } from "./istio-routing.ts";

/** Istio 1.24 and later read it if the API server does not know the field. */
const ISTIO_ANNOTATION = "networking.istio.io/traffic-distribution";

const READ_ANNOTATIONS: readonly string[] = [ISTIO_ANNOTATION, DISPATCH_ANNOTATIONS.deadline];

/** kube-proxy prefers the node or zone. Istio also prefers the region if a zone has no endpoint. */
const DISTRIBUTION_SCOPES: Readonly<Record<string, readonly RoutingScope[]>> = {
  PreferClose: ["zone"],
  PreferSameZone: ["zone"],
  PreferSameNode: ["node", "zone"],
};

export function trimmedService({
  apiVersion,
  kind,
  metadata,
  spec = {},
}: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, annotations } = metadata;
  const said = Object.entries(annotations ?? {}).filter(([name]) => READ_ANNOTATIONS.includes(name));
  const kept = ["type", "clusterIP", "selector", "trafficDistribution", "internalTrafficPolicy"];
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...definedOf({ namespace, uid, resourceVersion }),
      ...(said.length === 0 ? {} : { annotations: Object.fromEntries(said) }),
    },
    spec: Object.fromEntries(kept.flatMap((field) => (field in spec ? [[field, spec[field]]] : []))),
  };
}

export function serviceScopes({ metadata, spec }: KubernetesObject): readonly RoutingScope[] | null {
  // The policy drops traffic without an endpoint on the node, so only the node scope helps.
  if (looseFields<ServiceSpec>(spec).internalTrafficPolicy === "Local") return ["node"];
  const said =
    looseText(looseFields<ServiceSpec>(spec).trafficDistribution) ||
    (metadata.annotations?.[ISTIO_ANNOTATION] ?? "");
  return DISTRIBUTION_SCOPES[said] ?? null;
}

/** Request deadlines in ms by `namespace/name` of a Service. Services without a deadline are absent. */
export function deadlinesOf(services: readonly KubernetesObject[]): ReadonlyMap<string, number> {
  return new Map(
    services.flatMap(({ metadata: { namespace = "default", name, annotations } }) => {
      const deadlineMs = deadlineOf(annotations);
      return deadlineMs === null ? [] : [[fullName({ namespace, name }), deadlineMs] as const];
    }),
  );
}

/**
 * Preference scopes of callers by `namespace/name` of a workload; absent: an even spread. A DestinationRule's
 * locality setting overrides the Service, as in Istio. All Services that select a workload must agree,
 * because traffic does not name its Service.
 */
export function routingOfWorkloads(
  services: readonly KubernetesObject[],
  workloads: readonly KubernetesObject[],
  destinationRules: readonly KubernetesObject[] = [],
): ReadonlyMap<string, readonly RoutingScope[]> {
  const routing = new Map<string, readonly RoutingScope[]>();
  const rules = new DestinationRules(destinationRules);
  const balanced = services.filter(isBalanced).map((service) => {
    const own = serviceScopes(service);
    return { service, scopes: rules.of(service, own !== null) ?? own ?? [] };
  });
  if (balanced.every(({ scopes }) => scopes.length === 0)) return routing;
  const byLabel = labelIndex(workloads);
  const found = new Map<string, readonly RoutingScope[]>();
  for (const { service, scopes } of balanced) {
    for (const name of selectedBy(service, byLabel)) {
      const others = found.get(name) ?? scopes;
      found.set(
        name,
        others.filter((scope) => scopes.includes(scope)),
      );
    }
  }
  for (const [name, scopes] of found) if (scopes.length > 0) routing.set(name, scopes);
  return routing;
}

interface Labelled {
  readonly name: string;
  readonly labels: Readonly<Record<string, unknown>>;
}

function isBalanced({ spec }: KubernetesObject): boolean {
  const { clusterIP, type } = looseFields<ServiceSpec>(spec);
  return clusterIP !== "None" && type !== "ExternalName";
}

/** Workloads by namespace and pod label, so that a Service checks only those with its first label. */
function labelIndex(workloads: readonly KubernetesObject[]): Map<string, Labelled[]> {
  const index = new Map<string, Labelled[]>();
  for (const { metadata, spec } of workloads) {
    const { namespace = "default", name } = metadata;
    const labels = templateLabels(spec);
    const labelled = { name: fullName({ namespace, name }), labels };
    for (const [key, value] of Object.entries(labels)) {
      const at = labelKey(namespace, key, value);
      const listed = index.get(at);
      if (listed === undefined) index.set(at, [labelled]);
      else listed.push(labelled);
    }
  }
  return index;
}

function selectedBy({ metadata, spec }: KubernetesObject, index: Map<string, Labelled[]>): string[] {
  const selector = Object.entries(looseFields(looseFields<ServiceSpec>(spec).selector));
  const [first] = selector;
  if (first === undefined) return [];
  const having = index.get(labelKey(metadata.namespace ?? "default", ...first)) ?? [];
  return having
    .filter(({ labels }) => selector.every(([key, value]) => labels[key] === value))
    .map(({ name }) => name);
}

function labelKey(namespace: string, key: string, value: unknown): string {
  return `${namespace}\n${key}=${String(value)}`;
}
