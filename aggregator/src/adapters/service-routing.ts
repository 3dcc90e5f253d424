// Where callers of a workload are sent, from the Services that select it.
import { deadlineOf, DISPATCH_ANNOTATIONS, templateLabels } from "@isochrone/kubernetes/basics";
import type { KubernetesObject, ServiceSpec } from "@isochrone/kubernetes";
import type { RoutingScope } from "@isochrone/topology";
import { definedOf, looseFields, looseText } from "@isochrone/primitives";
import { fullName } from "../domain/cluster-state.ts";
import { DestinationRules } from "./istio-routing.ts";

/** Read by Istio 1.24 and later where the field isn't known to the API server. */
const ISTIO_ANNOTATION = "networking.istio.io/traffic-distribution";

const READ_ANNOTATIONS: readonly string[] = [ISTIO_ANNOTATION, DISPATCH_ANNOTATIONS.deadline];

/**
 * Where each value of trafficDistribution prefers a nearer endpoint. kube-proxy knows nodes and zones; Istio,
 * whose values are the same, regions too, which only matters where a zone has no endpoint.
 */
const DISTRIBUTION_SCOPES: Readonly<Record<string, readonly RoutingScope[]>> = {
  PreferClose: ["zone"],
  PreferSameZone: ["zone"],
  PreferSameNode: ["node", "zone"],
};

/** What is kept of a Service. */
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

/** Where the Service prefers a nearer endpoint; null: it doesn't. */
export function serviceScopes({ metadata, spec }: KubernetesObject): readonly RoutingScope[] | null {
  // Nothing leaves the node: without an endpoint there it is dropped, so that being there is all that helps.
  if (looseFields<ServiceSpec>(spec).internalTrafficPolicy === "Local") return ["node"];
  const said =
    looseText(looseFields<ServiceSpec>(spec).trafficDistribution) ||
    (metadata.annotations?.[ISTIO_ANNOTATION] ?? "");
  return DISTRIBUTION_SCOPES[said] ?? null;
}

/** By full name of a Service, how long a request may take, ms; of those that say so. */
export function deadlinesOf(services: readonly KubernetesObject[]): ReadonlyMap<string, number> {
  return new Map(
    services.flatMap(({ metadata: { namespace = "default", name, annotations } }) => {
      const deadlineMs = deadlineOf(annotations);
      return deadlineMs === null ? [] : [[fullName({ namespace, name }), deadlineMs] as const];
    }),
  );
}

/**
 * By full name of a workload, where its callers prefer a nearer replica; workloads that all callers spread
 * over are left out. What a DestinationRule says of localities goes before what the Service says, as in
 * Istio. Of several Services that select a workload all must agree on a scope, since traffic doesn't say by
 * which of them it came.
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

/** Nobody chooses an endpoint of a headless Service, nor of a name for another host. */
function isBalanced({ spec }: KubernetesObject): boolean {
  const { clusterIP, type } = looseFields<ServiceSpec>(spec);
  return clusterIP !== "None" && type !== "ExternalName";
}

/**
 * Workloads by namespace and one of their pods' labels: each Service looks only at those that have its first.
 */
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
