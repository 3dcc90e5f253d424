// Routing preferences of Istio's DestinationRules. Rules and precedence follow istio/istio
// pilot/pkg/networking/core/loadbalancer/loadbalancer.go (0098d99f).
import type {
  KubernetesObject,
  LoadBalancer,
  LocalityLbSetting,
  TrafficPolicy,
  Unchecked,
} from "@isochrone/kubernetes";
import type { RoutingScope } from "@isochrone/topology";
import { definedOf, looseFields, looseList, looseText } from "@isochrone/primitives";

/** Preference scopes of a Service; empty: an even spread; undefined: no rule applies. */
type SaidByRules = readonly RoutingScope[] | undefined;

/** Rules in this namespace apply to the whole mesh. */
const ROOT_NAMESPACE = "istio-system";
/** Default failover order, by locality. Kubernetes has no label for a subzone. */
const LOCALITY: readonly RoutingScope[] = ["zone", "region"];
const SCOPE_OF_LABEL: Readonly<Record<string, RoutingScope>> = {
  "topology.kubernetes.io/region": "region",
  "topology.kubernetes.io/zone": "zone",
  "kubernetes.io/hostname": "node",
};
const WIDTH: Readonly<Record<RoutingScope, number>> = { node: 0, zone: 1, region: 2 };

export function trimmedDestinationRule({
  apiVersion,
  kind,
  metadata,
  spec = {},
}: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const { outlierDetection, loadBalancer } = looseFields<TrafficPolicy>(spec.trafficPolicy);
  const { localityLbSetting } = looseFields<LoadBalancer>(loadBalancer);
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...definedOf({ namespace, uid, resourceVersion, creationTimestamp }),
    },
    spec: {
      host: spec.host,
      ...(spec.workloadSelector === undefined ? {} : { workloadSelector: {} }),
      trafficPolicy: {
        ...(outlierDetection === undefined ? {} : { outlierDetection: {} }),
        ...(localityLbSetting === undefined ? {} : { loadBalancer: { localityLbSetting } }),
      },
    },
  };
}

export class DestinationRules {
  readonly #rules: ReadonlyMap<string, readonly KubernetesObject[]>;

  constructor(rules: readonly KubernetesObject[]) {
    // Among several rules for a host the oldest applies.
    const forAll = rules
      .filter(({ spec = {} }) => spec.workloadSelector === undefined)
      .toSorted((a, b) => compare(createdAt(a), createdAt(b)) || compare(a.metadata.name, b.metadata.name));
    this.#rules = Map.groupBy(forAll, ({ metadata }) => metadata.namespace ?? "default");
  }

  /** @param distributes the Service has a trafficDistribution; applies if no rule sets a locality */
  of({ metadata }: KubernetesObject, distributes: boolean): SaidByRules {
    const { name, namespace = "default" } = metadata;
    const policy = this.#policyOf(name, namespace);
    return policy === undefined ? undefined : scopesOf(policy, distributes);
  }

  /** Finds the most specific host, in the Service's namespace first. Ignores rules in callers' namespaces. */
  #policyOf(name: string, namespace: string): Unchecked<TrafficPolicy> | undefined {
    for (const from of new Set([namespace, ROOT_NAMESPACE])) {
      const matches = (this.#rules.get(from) ?? []).flatMap((rule) => {
        const match = matchOf(looseText(rule.spec?.host), from, `${name}.${namespace}.svc`);
        return match < 0 ? [] : [{ rule, match }];
      });
      const best = matches.reduce<(typeof matches)[number] | null>(
        (found, next) => (found === null || next.match > found.match ? next : found),
        null,
      );
      if (best !== null) return looseFields<TrafficPolicy>(best.rule.spec?.trafficPolicy);
    }
    return undefined;
  }
}

function scopesOf(policy: Unchecked<TrafficPolicy>, distributes: boolean): SaidByRules {
  const detects = policy.outlierDetection !== undefined;
  const { localityLbSetting: setting } = looseFields<LoadBalancer>(policy.loadBalancer);
  if (setting === undefined || setting === null) return detects && !distributes ? LOCALITY : undefined;
  const { enabled, distribute, failoverPriority } = looseFields<LocalityLbSetting>(setting);
  // Weights by locality are user-defined and need not prefer near endpoints. Istio sets no priorities without
  // outlier detection.
  if (enabled === false || looseList(distribute).length > 0 || !detects) return [];
  const labels = Array.isArray(failoverPriority) ? failoverPriority : [];
  return labels.length === 0 ? LOCALITY : scopesOfLabels(labels);
}

/** Ranks an endpoint by the number of leading labels it shares with the caller, so scopes are nested. */
function scopesOfLabels(labels: readonly unknown[]): readonly RoutingScope[] {
  const scopes: RoutingScope[] = [];
  for (const label of labels) {
    const scope = SCOPE_OF_LABEL[String(label)];
    const before = scopes.at(0);
    if (scope !== undefined && (before === undefined || WIDTH[scope] < WIDTH[before])) scopes.unshift(scope);
  }
  return scopes;
}

/** Specificity of a host for `name.namespace.svc` in any cluster domain; -1: no match. */
function matchOf(host: string, namespace: string, service: string): number {
  if (host === "") return -1;
  if (!host.includes("*")) {
    const full = host.includes(".") ? host : `${host}.${namespace}.svc.`;
    return full.startsWith(`${service}.`) ? Number.POSITIVE_INFINITY : -1;
  }
  const suffix = host.slice(1);
  if (!host.startsWith("*") || suffix.includes("*")) return -1;
  const [own, ofDomain] = suffix.split(/(?<=\.svc)(?=\.)/);
  if (ofDomain !== undefined) return service.endsWith(own!) ? host.length : -1;
  return suffix === "" || suffix === ".local" || suffix === ".cluster.local" ? host.length : -1;
}

function createdAt({ metadata }: KubernetesObject): string {
  return metadata.creationTimestamp ?? "";
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
