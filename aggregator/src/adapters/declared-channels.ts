import { parseMemoryBytes, type KubernetesObject } from "@isochrone/kubernetes";
import type { DeclaredChannel, NamespacedName } from "../domain/cluster-state.ts";

/**
 * Annotation of a workload object: a JSON list of what it calls, for example
 * `[{"name": "db", "namespace": "shop", "priority": 5, "maxNetworkCost": 20, "minBandwidth": "10M"}]`; only `name` must be there.
 */
export const DEPENDENCIES_ANNOTATION = "isochrone.dev/dependencies";

/** Told of what can't be read. */
export type OnUnreadable = (object: KubernetesObject, rule: string) => void;

/** Channels that a workload's annotation declares. */
export function channelsOfAnnotation(
  object: KubernetesObject,
  onUnreadable: OnUnreadable,
): DeclaredChannel[] {
  const text = object.metadata.annotations?.[DEPENDENCIES_ANNOTATION];
  if (text === undefined) return [];
  const source = nameOf(object);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = null;
  }
  if (!Array.isArray(parsed)) {
    onUnreadable(object, `${DEPENDENCIES_ANNOTATION} must be a JSON list`);
    return [];
  }
  return parsed.flatMap((item) =>
    channel(source, fieldsOf(item), fieldsOf(item), () =>
      onUnreadable(object, `each entry of ${DEPENDENCIES_ANNOTATION} must have a name`),
    ),
  );
}

/** Channels that an AppGroup (KEP-260) declares; dependencies go from the workload that lists them to the listed one. */
export function channelsOfAppGroup(object: KubernetesObject, onUnreadable: OnUnreadable): DeclaredChannel[] {
  const namespace = nameOf(object).namespace;
  const unreadable = (): void => onUnreadable(object, "each workload and dependency must have workload.name");
  return listOf(object.spec?.["workloads"]).flatMap((entry) => {
    const source = nameIn(fieldsOf(entry["workload"]), namespace);
    if (source === null) {
      unreadable();
      return [];
    }
    return listOf(entry["dependencies"]).flatMap((dependency) =>
      channel(source, fieldsOf(dependency["workload"]), dependency, unreadable),
    );
  });
}

type Fields = Readonly<Record<string, unknown>>;

function channel(
  source: NamespacedName,
  targetFields: Fields,
  needs: Fields,
  unreadable: () => void,
): DeclaredChannel[] {
  const target = nameIn(targetFields, source.namespace);
  if (target === null) {
    unreadable();
    return [];
  }
  return [
    {
      source,
      target,
      priority: numberOf(needs["priority"]),
      maxNetworkCost: numberOf(needs["maxNetworkCost"]),
      minBandwidthBitsPerSecond: quantityOf(needs["minBandwidth"]),
    },
  ];
}

function nameOf(object: KubernetesObject): NamespacedName {
  return { namespace: object.metadata.namespace ?? "default", name: object.metadata.name };
}

function nameIn(fields: Fields, defaultNamespace: string): NamespacedName | null {
  const { name, namespace } = fields;
  if (typeof name !== "string" || name === "") return null;
  return {
    namespace: typeof namespace === "string" && namespace !== "" ? namespace : defaultNamespace,
    name,
  };
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}

/** A Kubernetes quantity of bits per second; its suffixes are those of memory. */
function quantityOf(value: unknown): number | null {
  if (typeof value !== "string" && typeof value !== "number") return null;
  try {
    return numberOf(parseMemoryBytes(value));
  } catch {
    return null;
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}
