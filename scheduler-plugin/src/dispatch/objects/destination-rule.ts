// Weights as an Istio DestinationRule, and detection of other rules for a Service.
import { percents, type ZoneWeights } from "@isochrone/dispatch/zones";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { definedOf, looseFields, looseList, looseText } from "@isochrone/primitives";

export const DISPATCH_FIELD_MANAGER = "isochrone-dispatch";

const OWN_LABEL = "app.kubernetes.io/managed-by";
const OWN = "isochrone";
/** Rules in this namespace apply to the whole mesh. */
const ROOT_NAMESPACE = "istio-system";
const MAX_NAME = 253;

export function isOwnRule({ metadata }: KubernetesObject): boolean {
  return metadata.labels?.[OWN_LABEL] === OWN && metadata.name.startsWith("isochrone-");
}

export function ruleName(service: string): string {
  return `isochrone-${service}`.slice(0, MAX_NAME);
}

/**
 * Builds our rule for a Service. Sets no outlier detection, so Istio applies only the distribution.
 * @param regions by zone
 */
export function distributeRule(
  { metadata: { namespace = "default", name, uid = "" } }: KubernetesObject,
  weights: ZoneWeights,
  regions: ReadonlyMap<string, string>,
): KubernetesObject {
  const locality = (zone: string): string => `${regions.get(zone)!}/${zone}/*`;
  const distribute = Array.from(percents(weights), ([zone, shares]) => ({
    from: locality(zone),
    to: Object.fromEntries(Array.from(shares, ([to, percent]) => [locality(to), percent])),
  }));
  return {
    ...KINDS.destinationRule,
    metadata: {
      name: ruleName(name),
      namespace,
      labels: { [OWN_LABEL]: OWN },
      ownerReferences: [{ ...KINDS.service, name, uid }],
    },
    spec: {
      host: hostOf(namespace, name),
      trafficPolicy: {
        loadBalancer: { localityLbSetting: { enabled: true, distribute } },
        outlierDetection: { consecutive5xxErrors: 5 },
      },
    },
  };
}

export function weightsOfRule(rule: KubernetesObject): ZoneWeights | null {
  const weights = new Map<string, ReadonlyMap<string, number>>();
  for (const { from, to } of distributeOf(rule)) {
    const shares = Object.entries(looseFields(to)).map(
      ([locality, percent]) => [zoneOf(locality), Number(percent) / 100] as const,
    );
    weights.set(zoneOf(looseText(from)), new Map(shares));
  }
  return weights.size === 0 ? null : weights;
}

export function distributeOf({ spec }: KubernetesObject): { from?: unknown; to?: unknown }[] {
  const { loadBalancer } = looseFields<{ loadBalancer: object }>(looseFields(spec).trafficPolicy);
  const { localityLbSetting } = looseFields<{ localityLbSetting: object }>(loadBalancer);
  return looseList<{ from: string; to: object }>(
    looseFields<{ distribute: object[] }>(localityLbSetting).distribute,
  );
}

/** Finds another owner's rule for the Service: Istio applies only one rule per host. */
export function foreignRule(
  { metadata: { namespace = "default", name } }: KubernetesObject,
  rules: readonly KubernetesObject[],
): KubernetesObject | null {
  const found = rules.find((rule) => {
    const { namespace: from = "default", name: ruleOf } = rule.metadata;
    if (from !== namespace && from !== ROOT_NAMESPACE) return false;
    const isOurs = isOwnRule(rule) && from === namespace && ruleOf === ruleName(name);
    return !isOurs && speaksOf(looseText(rule.spec?.host), from, namespace, name);
  });
  return found ?? null;
}

function speaksOf(host: string, from: string, namespace: string, name: string): boolean {
  const full = hostOf(namespace, name);
  if (host.startsWith("*")) return full.endsWith(host.slice(1));
  const names = [full, `${name}.${namespace}.svc`, `${name}.${namespace}`];
  return names.includes(host) || (from === namespace && host === name);
}

function hostOf(namespace: string, name: string): string {
  return `${name}.${namespace}.svc.cluster.local`;
}

function zoneOf(locality: string): string {
  return locality.split("/")[1] ?? "";
}

export function trimmedRule({ apiVersion, kind, metadata, spec = {} }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, labels } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, ...definedOf({ namespace, uid, resourceVersion, labels }) },
    spec: { host: spec.host, trafficPolicy: spec.trafficPolicy },
  };
}
