// Parses the channels that one object declares, by annotation or AppGroup spec. The input is untrusted.
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

/** Limit per object. An AppGroup of 200 workloads with 10 dependencies each reaches it. */
export const MAX_CHANNELS_PER_OBJECT = 2_000;

/** Called for each refusal; `rule` is a message for the author of the declaration. */
export type OnRefused = (reason: DeclarationRefusal, rule: string, channels?: number) => void;

export function declaredCharacters({ metadata }: KubernetesObject): number {
  const { [DEPENDENCIES_ANNOTATION]: calls = "", [CHANNELS_ANNOTATION]: channels = "" } =
    metadata.annotations ?? {};
  return [calls, channels].reduce(
    (sum, { length }) => (length > MAX_CHANNELS_CHARACTERS ? sum : sum + length),
    0,
  );
}

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

/** Parses an AppGroup (KEP-260). Types and priorities of its dependencies are in an annotation. */
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

/** Truncates to the limit and drops selectors without a dependency, because the result stays in memory. */
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

/** Admits entries up to the limit and reports the excess once. */
class ObjectLimit {
  readonly #onRefused: OnRefused;
  #taken = 0;
  #beyond = 0;

  constructor(onRefused: OnRefused) {
    this.#onRefused = onRefused;
  }

  /** Invalid entries count too, because parsing them costs time. */
  take<T>(entries: readonly T[], read: (entry: T) => void): void {
    const room = Math.max(0, MAX_CHANNELS_PER_OBJECT - this.#taken);
    for (const entry of entries.slice(0, room)) read(entry);
    this.#taken += Math.min(room, entries.length);
    this.#beyond += Math.max(0, entries.length - room);
  }

  get isReached(): boolean {
    return this.#taken >= MAX_CHANNELS_PER_OBJECT;
  }

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

/** Merges the annotation into a dependency of the AppGroup. Without such a dependency it has no effect. */
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
