// What one object declares of channels: its annotation, or an AppGroup's spec. Untrusted texts come in,
// bounded figures go out.
import { CHANNELS_ANNOTATION, MAX_CHANNELS_CHARACTERS, parseChannels } from "@isochrone/kubernetes/basics";
import type { AnnotatedChannel, KubernetesObject, LooseFields } from "@isochrone/kubernetes";
import { looseFields, parseBitsPerSecond, parseJson } from "@isochrone/primitives";
import {
  boundedDemands,
  isWorkloadName,
  readAppGroup,
  type AppGroupMembers,
  type AppGroupText,
  type ChannelDeclaration,
  type ChannelDemands,
  type DeclarationRefusal,
  type DeclaredWorkload,
  type WorkloadReference,
} from "@isochrone/topology";

/**
 * Annotation of a workload object: a JSON list of what it calls, for example `[{"name": "db", "namespace":
 * "shop", "priority": 5, "maxNetworkCost": 20, "minBandwidth": "10M", "type": "HTTPRoute"}]`; only `name`
 * must be there.
 */
export const DEPENDENCIES_ANNOTATION = "isochrone.dev/dependencies";

/**
 * Channels that one object may declare; an AppGroup of 200 workloads with 10 dependencies each has as many.
 */
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
  const channels: ChannelDeclaration[] = [];
  const limit = new ObjectLimit(onRefused);
  limit.take(parsed, (entry) => {
    const fields = looseFields(entry);
    const { name, namespace } = fields;
    if (typeof name !== "string" || name === "")
      return onRefused("unreadable", `each entry of ${DEPENDENCIES_ANNOTATION} must have a name`);
    const own = typeof namespace !== "string" || namespace === "";
    const target = { namespace: own ? source.namespace : namespace, name };
    if ([source, target].every((each) => isNamedWell(each, onRefused)))
      channels.push({ declaredIn: source.namespace, source, target, ...demandsOf(fields, null) });
  });
  limit.tell();
  return channels;
}

/** What an AppGroup (KEP-260) declares; types and priorities of its dependencies are in an annotation. */
export function appGroupText(object: KubernetesObject, onRefused: OnRefused): AppGroupText<AnnotatedChannel> {
  const text = readAppGroup(nameOf(object), object.spec, annotatedChannels(object, onRefused));
  if (text.unreadable > 0)
    onRefused(
      "unreadable",
      "each workload and dependency must have workload.selector or workload.name",
      text.unreadable,
    );
  const beyond = text.dependencies.length - MAX_CHANNELS_PER_OBJECT;
  if (beyond <= 0) return text;
  tellLimit(onRefused, text.dependencies.length, beyond);
  return { ...text, ...withinLimit(text) };
}

/** Keeps as many dependencies as are read, and the selectors that those name: the text is kept in memory. */
function withinLimit({
  dependencies: all,
}: AppGroupText<AnnotatedChannel>): Pick<AppGroupText<AnnotatedChannel>, "dependencies" | "selected"> {
  const dependencies = all.slice(0, MAX_CHANNELS_PER_OBJECT);
  const ends = dependencies.flatMap(({ source, target }) => [source, target]);
  const selected = new Map(
    ends.filter(({ selector }) => selector !== null).map((end) => [end.selector, end]),
  );
  return { dependencies, selected: [...selected.values()] };
}

function tellLimit(onRefused: OnRefused, declared: number, beyond: number): void {
  const rule = `an object may declare at most ${MAX_CHANNELS_PER_OBJECT} channels, got ${declared}`;
  onRefused("object_limit", rule, beyond);
}

/** The channels that it comes to among these pods. */
export function channelsOfAppGroup(
  text: AppGroupText<AnnotatedChannel>,
  members: AppGroupMembers,
  onRefused: OnRefused,
): ChannelDeclaration[] {
  const declaredIn = text.id.namespace;
  const channels: ChannelDeclaration[] = [];
  const limit = new ObjectLimit(onRefused);
  const endsOf = (reference: WorkloadReference): readonly DeclaredWorkload[] => {
    const { workloads } = members.refer(text, reference);
    return reference.selector === null ? workloads.filter((each) => isNamedWell(each, onRefused)) : workloads;
  };
  for (const { source, target, fields, annotated } of text.dependencies) {
    if (limit.isReached) {
      limit.pass(1);
      continue;
    }
    const demands = demandsOf(fields, annotated);
    const targets = endsOf(target);
    for (const from of endsOf(source))
      limit.take(targets, (to) => channels.push({ declaredIn, source: from, target: to, ...demands }));
  }
  limit.tell();
  return channels;
}

/** Takes as much as one object may declare, and tells once how much there was beyond. */
class ObjectLimit {
  readonly #onRefused: OnRefused;
  #taken = 0;
  #beyond = 0;

  constructor(onRefused: OnRefused) {
    this.#onRefused = onRefused;
  }

  /** Entries that say nothing count too: they are work. */
  take<T>(entries: readonly T[], read: (entry: T) => void): void {
    const room = Math.max(0, MAX_CHANNELS_PER_OBJECT - this.#taken);
    for (const entry of entries.slice(0, room)) read(entry);
    this.#taken += Math.min(room, entries.length);
    this.#beyond += Math.max(0, entries.length - room);
  }

  get isReached(): boolean {
    return this.#taken >= MAX_CHANNELS_PER_OBJECT;
  }

  /** So many more, which nobody looks at. */
  pass(entries: number): void {
    this.#beyond += entries;
  }

  tell(): void {
    if (this.#beyond > 0) tellLimit(this.#onRefused, this.#taken + this.#beyond, this.#beyond);
  }
}

function isNamedWell(workload: DeclaredWorkload, onRefused: OnRefused): boolean {
  if (isWorkloadName(workload)) return true;
  onRefused(
    "bad_name",
    `namespaces and names of workloads must be as Kubernetes has them, got ${shown(workload)}`,
  );
  return false;
}

/**
 * The annotation adds to what the AppGroup says; a dependency that was taken out of it is none for being
 * annotated still.
 */
function demandsOf(fields: LooseFields, annotated: AnnotatedChannel | null): ChannelDemands {
  const minBandwidthBitsPerSecond = parseBitsPerSecond(fields.minBandwidth);
  const { maxNetworkCost } = fields;
  const { priority, relationshipType } = annotated ?? {
    priority: fields.priority,
    relationshipType: fields.type,
  };
  return boundedDemands({ priority, maxNetworkCost, minBandwidthBitsPerSecond, relationshipType });
}

function annotatedChannels(object: KubernetesObject, onRefused: OnRefused): AnnotatedChannel[] {
  const text = object.metadata.annotations?.[CHANNELS_ANNOTATION];
  if (text === undefined || isTooLong(CHANNELS_ANNOTATION, text, onRefused)) return [];
  const annotated = parseChannels(text, nameOf(object).namespace);
  if (annotated === null) onRefused("unreadable", `${CHANNELS_ANNOTATION} must be a JSON list`);
  return annotated ?? [];
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
    const parsed: unknown = parseJson(text);
    return Array.isArray(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function nameOf({ metadata }: KubernetesObject): DeclaredWorkload {
  return { namespace: metadata.namespace ?? "default", name: metadata.name };
}

const MAX_SHOWN = 80;

function shown({ namespace, name }: DeclaredWorkload): string {
  return JSON.stringify(`${namespace}/${name}`.slice(0, MAX_SHOWN));
}
