import {
  CHANNELS_ANNOTATION,
  NO_NETWORK_LIMIT,
  parseChannels,
  parseMemoryBytes,
  type AnnotatedChannel,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import { fullName, type DeclaredChannel, type NamespacedName } from "../domain/cluster-state.ts";

/**
 * Annotation of a workload object: a JSON list of what it calls, for example
 * `[{"name": "db", "namespace": "shop", "priority": 5, "maxNetworkCost": 20, "minBandwidth": "10M", "type": "HTTPRoute"}]`; only `name`
 * must be there.
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

/**
 * Channels that an AppGroup (KEP-260) declares; dependencies go from the workload that lists them to the listed one. Their types and
 * priorities are in an annotation, and so are channels of a workload to itself, on which nothing can depend.
 */
export function channelsOfAppGroup(object: KubernetesObject, onUnreadable: OnUnreadable): DeclaredChannel[] {
  const namespace = nameOf(object).namespace;
  const unreadable = (): void => onUnreadable(object, "each workload and dependency must have workload.name");
  const channels = listOf(object.spec?.["workloads"]).flatMap((entry) => {
    const source = nameIn(fieldsOf(entry["workload"]), namespace);
    if (source === null) {
      unreadable();
      return [];
    }
    return listOf(entry["dependencies"]).flatMap((dependency) =>
      channel(source, fieldsOf(dependency["workload"]), dependency, unreadable),
    );
  });
  const annotated = annotatedChannels(object, onUnreadable);
  return annotated.size === 0 ? channels : withAnnotated(channels, annotated);
}

/** By {@link channelKey}. */
function annotatedChannels(
  object: KubernetesObject,
  onUnreadable: OnUnreadable,
): ReadonlyMap<string, AnnotatedChannel> {
  const text = object.metadata.annotations?.[CHANNELS_ANNOTATION];
  if (text === undefined) return new Map();
  const annotated = parseChannels(text, nameOf(object).namespace);
  if (annotated === null) onUnreadable(object, `${CHANNELS_ANNOTATION} must be a JSON list`);
  return new Map((annotated ?? []).map((each) => [channelKey(each), each]));
}

/** The annotation adds to what the AppGroup says; a dependency that was taken out of it is none for being annotated still. */
function withAnnotated(
  channels: readonly DeclaredChannel[],
  annotated: ReadonlyMap<string, AnnotatedChannel>,
): DeclaredChannel[] {
  const own = [...annotated.values()]
    .filter(({ source, target }) => fullName(source) === fullName(target))
    .map((each) => ({ ...each, maxNetworkCost: null, minBandwidthBitsPerSecond: null }));
  return [...channels, ...own].map((each) => {
    const known = annotated.get(channelKey(each));
    if (known === undefined) return each as DeclaredChannel;
    const { source, target, maxNetworkCost, minBandwidthBitsPerSecond } = each;
    return {
      source,
      target,
      priority: known.priority,
      maxNetworkCost: maxNetworkCost === NO_NETWORK_LIMIT ? null : maxNetworkCost,
      minBandwidthBitsPerSecond,
      ...typeOf(known.relationshipType),
    };
  });
}

function channelKey({ source, target }: Pick<AnnotatedChannel, "source" | "target">): string {
  return `${fullName(source)}\n${fullName(target)}`;
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
      ...typeOf(needs["type"]),
    },
  ];
}

/** An AppGroup has no such field; its API server drops what it doesn't know. */
function typeOf(value: unknown): { readonly relationshipType?: string } {
  return typeof value === "string" && value !== "" ? { relationshipType: value } : {};
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
