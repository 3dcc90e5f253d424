// What one object declares of channels: its annotation, or an AppGroup's spec. Untrusted texts come in, bounded figures go out.
import {
  CHANNELS_ANNOTATION,
  looseFields,
  looseList,
  MAX_CHANNELS_CHARACTERS,
  NO_NETWORK_LIMIT,
  amountOrNull,
  parseChannels,
  parseMemoryBytes,
  type AnnotatedChannel,
  type KubernetesObject,
  type LooseFields,
} from "@isochrone/kubernetes";
import {
  boundedDemands,
  isWorkloadName,
  type ChannelDeclaration,
  type DeclarationRefusal,
  type DeclaredWorkload,
} from "@isochrone/topology";

/**
 * Annotation of a workload object: a JSON list of what it calls, for example
 * `[{"name": "db", "namespace": "shop", "priority": 5, "maxNetworkCost": 20, "minBandwidth": "10M", "type": "HTTPRoute"}]`; only `name`
 * must be there.
 */
export const DEPENDENCIES_ANNOTATION = "isochrone.dev/dependencies";

/** Channels that one object may declare; an AppGroup of 200 workloads with 10 dependencies each has as many. */
export const MAX_CHANNELS_PER_OBJECT = 2_000;

/** Told of what is left out, in words for whoever declared it. */
export type OnRefused = (reason: DeclarationRefusal, rule: string, channels?: number) => void;

/** Characters that are read to know what the object declares. */
export function declaredCharacters({ metadata }: KubernetesObject): number {
  const { [DEPENDENCIES_ANNOTATION]: calls = "", [CHANNELS_ANNOTATION]: channels = "" } =
    metadata.annotations ?? {};
  return [calls, channels].reduce(
    (sum, { length }) => (length > MAX_CHANNELS_CHARACTERS ? sum : sum + length),
    0,
  );
}

/** Channels that a workload's annotation declares. */
export function channelsOfAnnotation(object: KubernetesObject, onRefused: OnRefused): ChannelDeclaration[] {
  const text = object.metadata.annotations?.[DEPENDENCIES_ANNOTATION];
  if (text === undefined) return [];
  if (isTooLong(DEPENDENCIES_ANNOTATION, text, onRefused)) return [];
  const parsed = parsedList(text);
  if (parsed === null) {
    onRefused("unreadable", `${DEPENDENCIES_ANNOTATION} must be a JSON list`);
    return [];
  }
  const source = nameOf(object);
  const reading = new Reading(source.namespace, onRefused);
  reading.take(parsed, (entry) => {
    const fields = looseFields(entry);
    const target = nameIn(fields, source.namespace);
    if (target === null) onRefused("unreadable", `each entry of ${DEPENDENCIES_ANNOTATION} must have a name`);
    else reading.add(source, target, fields);
  });
  return reading.finish();
}

/**
 * Channels that an AppGroup (KEP-260) declares; dependencies go from the workload that lists them to the listed one. Their types and
 * priorities are in an annotation, and so are channels of a workload to itself, on which nothing can depend.
 */
export function channelsOfAppGroup(object: KubernetesObject, onRefused: OnRefused): ChannelDeclaration[] {
  const { namespace } = nameOf(object);
  const reading = new Reading(namespace, onRefused);
  const unreadable = (): void =>
    onRefused("unreadable", "each workload and dependency must have workload.name");
  for (const entry of looseList(object.spec?.["workloads"])) {
    const source = nameIn(looseFields(entry["workload"]), namespace);
    if (source === null) {
      unreadable();
      continue;
    }
    const { dependencies } = entry;
    reading.take(Array.isArray(dependencies) ? dependencies : [], (dependency) => {
      const fields = looseFields(dependency);
      const target = nameIn(looseFields(fields["workload"]), namespace);
      if (target === null) unreadable();
      else reading.add(source, target, fields);
    });
  }
  const annotated = annotatedChannels(object, onRefused);
  for (const each of annotated.values())
    if (isToItself(each)) reading.take([each], () => reading.add(each.source, each.target, {}));
  return reading.finish().map((each) => withAnnotated(each, annotated.get(channelKey(each))));
}

/** Collects as many channels as one object may declare, and tells once how many there were beyond. */
class Reading {
  readonly #declaredIn: string;
  readonly #onRefused: OnRefused;
  readonly #channels: ChannelDeclaration[] = [];
  #taken = 0;
  #beyond = 0;

  constructor(declaredIn: string, onRefused: OnRefused) {
    this.#declaredIn = declaredIn;
    this.#onRefused = onRefused;
  }

  /** Entries that say nothing count too: they are work. */
  take<T>(entries: readonly T[], read: (entry: T) => void): void {
    const room = Math.max(0, MAX_CHANNELS_PER_OBJECT - this.#taken);
    for (const entry of entries.slice(0, room)) read(entry);
    this.#taken += Math.min(room, entries.length);
    this.#beyond += Math.max(0, entries.length - room);
  }

  add(source: DeclaredWorkload, target: DeclaredWorkload, needs: LooseFields): void {
    const wrong = [source, target].find((each) => !isWorkloadName(each));
    if (wrong !== undefined) {
      this.#onRefused(
        "bad_name",
        `namespaces and names of workloads must be as Kubernetes has them, got ${shown(wrong)}`,
      );
      return;
    }
    const { priority, maxNetworkCost, minBandwidth, type: relationshipType } = needs;
    const minBandwidthBitsPerSecond = amountOrNull(minBandwidth, parseMemoryBytes);
    const demands = boundedDemands({
      priority,
      maxNetworkCost,
      minBandwidthBitsPerSecond,
      relationshipType,
    });
    this.#channels.push({ declaredIn: this.#declaredIn, source, target, ...demands });
  }

  finish(): ChannelDeclaration[] {
    if (this.#beyond > 0) {
      const rule = `an object may declare at most ${MAX_CHANNELS_PER_OBJECT} channels, got ${this.#taken + this.#beyond}`;
      this.#onRefused("object_limit", rule, this.#beyond);
    }
    return this.#channels;
  }
}

/** By {@link channelKey}. */
function annotatedChannels(
  object: KubernetesObject,
  onRefused: OnRefused,
): ReadonlyMap<string, AnnotatedChannel> {
  const text = object.metadata.annotations?.[CHANNELS_ANNOTATION];
  if (text === undefined || isTooLong(CHANNELS_ANNOTATION, text, onRefused)) return new Map();
  const annotated = parseChannels(text, nameOf(object).namespace);
  if (annotated === null) onRefused("unreadable", `${CHANNELS_ANNOTATION} must be a JSON list`);
  return new Map((annotated ?? []).map((each) => [channelKey(each), each]));
}

/** The annotation adds to what the AppGroup says; a dependency that was taken out of it is none for being annotated still. */
function withAnnotated(
  channel: ChannelDeclaration,
  annotated: AnnotatedChannel | undefined,
): ChannelDeclaration {
  if (annotated === undefined) return channel;
  const { declaredIn, source, target, maxNetworkCost, minBandwidthBitsPerSecond } = channel;
  const { priority, relationshipType } = annotated;
  const limit = maxNetworkCost === NO_NETWORK_LIMIT ? null : maxNetworkCost;
  return {
    declaredIn,
    source,
    target,
    ...boundedDemands({ priority, maxNetworkCost: limit, minBandwidthBitsPerSecond, relationshipType }),
  };
}

function isToItself({ source, target }: AnnotatedChannel): boolean {
  return source.namespace === target.namespace && source.name === target.name;
}

function channelKey({ source, target }: Pick<AnnotatedChannel, "source" | "target">): string {
  return `${source.namespace}/${source.name}\n${target.namespace}/${target.name}`;
}

/** Such a text isn't parsed at all. */
function isTooLong(annotation: string, text: string, onRefused: OnRefused): boolean {
  if (text.length <= MAX_CHANNELS_CHARACTERS) return false;
  onRefused(
    "too_large",
    `${annotation} must have at most ${MAX_CHANNELS_CHARACTERS} characters, got ${text.length}`,
  );
  return true;
}

function parsedList(text: string): unknown[] | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function nameOf({ metadata }: KubernetesObject): DeclaredWorkload {
  return { namespace: metadata.namespace ?? "default", name: metadata.name };
}

function nameIn({ name, namespace }: LooseFields, defaultNamespace: string): DeclaredWorkload | null {
  if (typeof name !== "string" || name === "") return null;
  return {
    namespace: typeof namespace === "string" && namespace !== "" ? namespace : defaultNamespace,
    name,
  };
}

const MAX_SHOWN = 80;

function shown({ namespace, name }: DeclaredWorkload): string {
  return JSON.stringify(`${namespace}/${name}`.slice(0, MAX_SHOWN));
}
