// Which workloads an AppGroup (KEP-260) means: those whose pods carry its labels, as upstream's plugin reads
// them. The one reading of the aggregator, the scheduler-plugin, `isochrone score` and `isochrone doctor`.
import { looseFields, looseList, type LooseFields, type Unchecked } from "@isochrone/primitives";
import type { DeclaredWorkload } from "./declarations.ts";

/** Labels of pods. */
export const APP_GROUP_LABELS = {
  /** Names the AppGroup. */
  group: "appgroup.diktyo.x-k8s.io",
  /** Says which of its workloads the pod belongs to: the workload's `selector`. */
  selector: "appgroup.diktyo.x-k8s.io.workload",
} as const;

/** An AppGroup's name in its namespace. */
export interface AppGroupId {
  readonly namespace: string;
  readonly name: string;
}

/** How an AppGroup's spec names a workload. */
export interface WorkloadReference {
  /** null: the AppGroup's own. */
  readonly namespace: string | null;
  /** null: the spec has none, only a selector. */
  readonly name: string | null;
  /**
   * null: the form of KEP-260's text, which has none and means the workload of that name. The schema in use
   * demands one.
   */
  readonly selector: string | null;
}

/** An AppGroup as it is written, whatever pods there are. */
export interface AppGroupText<A> {
  readonly id: AppGroupId;
  /** Namespaces that the spec names. */
  readonly namespaces: ReadonlySet<string>;
  readonly dependencies: readonly AppGroupDependency<A>[];
  /** One of the references to each selector. */
  readonly selected: readonly WorkloadReference[];
  /** Workloads and dependencies with neither selector nor name. */
  readonly unreadable: number;
}

export interface AppGroupDependency<A> {
  readonly source: WorkloadReference;
  readonly target: WorkloadReference;
  /** The dependency as the spec has it, of any shape; empty for a channel of a workload to itself. */
  readonly fields: Unchecked<Dependency>;
  /** Where that is in the spec. */
  readonly path: readonly (string | number)[];
  /** What the annotation `isochrone.dev/channels` says of it; null: nothing. */
  readonly annotated: A | null;
}

/** A channel between workloads as an annotation names them. */
interface AnnotatedPair {
  readonly source: DeclaredWorkload;
  readonly target: DeclaredWorkload;
}

/** A pod, or the pod template of a workload, that carries both labels. */
export interface AppGroupMember {
  readonly namespace: string;
  /** Values of its labels. */
  readonly group: string;
  readonly selector: string;
  /** Name of the workload that it belongs to; of a pod without one, its own. */
  readonly workload: string;
  /** A pod without a workload. */
  readonly isBare: boolean;
}

/** What a reference comes to. */
interface ReferredWorkloads {
  /** Sorted by namespace and name. */
  readonly workloads: readonly DeclaredWorkload[];
  /** False: it has a selector that no pod and no pod template carries. */
  readonly isMatched: boolean;
}

/** What is read of an entry of `workloads`, and of its dependencies. */
interface Entry {
  readonly workload: WorkloadReference;
  readonly dependencies: readonly Dependency[];
}
interface Dependency {
  readonly workload: WorkloadReference;
  readonly minBandwidth: string;
  readonly maxNetworkCost: number;
  readonly priority: number;
  readonly type: string;
}

/** Both labels; null where one is missing. */
export function appGroupLabels(
  labels: LooseFields | undefined,
): Pick<AppGroupMember, "group" | "selector"> | null {
  const [group, selector] = [labels?.[APP_GROUP_LABELS.group], labels?.[APP_GROUP_LABELS.selector]];
  return isText(group) && isText(selector) ? { group, selector } : null;
}

/**
 * Reads a spec of any shape. Dependencies go from the workload that lists them to the listed one; of what is
 * annotated, a channel of a workload to itself is one too, because nothing can depend on itself.
 */
export function readAppGroup<A extends AnnotatedPair>(
  id: AppGroupId,
  spec: unknown,
  annotated: readonly A[] = [],
): AppGroupText<A> {
  const saying = new Map(annotated.map((each) => [pairKey(each), each]));
  const byName = new Map<string, WorkloadReference>();
  const selected = new Map<string, WorkloadReference>();
  const dependencies: AppGroupDependency<A>[] = [];
  const namespaces = new Set<string>();
  let unreadable = 0;
  const referred = (value: unknown): WorkloadReference | null => {
    const reference = referenceOf(value);
    if (reference === null) unreadable++;
    if (reference?.namespace) namespaces.add(reference.namespace);
    if (reference?.selector) selected.set(reference.selector, reference);
    return reference;
  };
  const { workloads } = looseFields<Record<"workloads", unknown>>(spec);
  for (const [row, entry] of looseList<Entry>(workloads).entries()) {
    const source = referred(entry.workload);
    if (source === null) continue;
    byName.set(fullName(namedBy(source, id)), source);
    for (const [column, fields] of looseList<Dependency>(entry.dependencies).entries()) {
      const target = referred(fields.workload);
      if (target === null) continue;
      const said = saying.get(pairKey({ source: namedBy(source, id), target: namedBy(target, id) })) ?? null;
      const path = ["spec", "workloads", row, "dependencies", column];
      dependencies.push({ source, target, fields, path, annotated: said });
    }
  }
  for (const each of saying.values()) {
    const name = fullName(each.source);
    if (name !== fullName(each.target)) continue;
    const itself = byName.get(name) ?? { ...each.source, selector: null };
    dependencies.push({ source: itself, target: itself, fields: {}, path: [], annotated: each });
  }
  return { id, namespaces, dependencies, selected: [...selected.values()], unreadable };
}

/** How an annotation names it. */
function namedBy({ namespace, name, selector }: WorkloadReference, id: AppGroupId): DeclaredWorkload {
  return { namespace: namespace ?? id.namespace, name: name ?? selector ?? "" };
}

function pairKey({ source, target }: AnnotatedPair): string {
  return `${fullName(source)}\n${fullName(target)}`;
}

/**
 * Whether labelled pods of the namespace are the AppGroup's. Upstream takes those of every namespace; but a
 * label must not reach into what another namespace has declared for itself: only namespaces that the spec
 * names count, and pods beside an AppGroup of the same name are that one's.
 */
export function hasPodsIn(
  group: AppGroupId,
  named: ReadonlySet<string>,
  namespace: string,
  isAppGroup: (other: AppGroupId) => boolean,
): boolean {
  if (namespace === group.namespace) return true;
  return named.has(namespace) && !isAppGroup({ namespace, name: group.name });
}

interface AppGroupMembersOptions {
  readonly members: Iterable<AppGroupMember>;
  readonly groups: Iterable<AppGroupId>;
  /**
   * All workloads with a controller, labelled or not, and bare pods without the labels: their names are
   * taken.
   */
  readonly workloads: Iterable<DeclaredWorkload>;
}

type AppGroupScope = Pick<AppGroupText<unknown>, "id" | "namespaces">;

/** Who carries the labels of which AppGroup. */
export class AppGroupMembers {
  readonly #groups: ReadonlySet<string>;
  /** Full names that mean something else than a selector. */
  readonly #taken: ReadonlySet<string>;
  /** By namespace and selector: groups whose bare pods carry it. */
  readonly #bareGroups = new Map<string, Set<string>>();
  /** By group and selector, then by namespace: names of workloads. */
  readonly #workloads = new Map<string, Map<string, Set<string>>>();

  constructor({ members, groups, workloads }: AppGroupMembersOptions) {
    this.#groups = new Set([...groups].map(fullName));
    this.#taken = new Set([...workloads].map(fullName));
    const all = [...members];
    for (const { namespace, selector, group, isBare } of all)
      if (isBare)
        entryOf(this.#bareGroups, fullName({ namespace, name: selector }), () => new Set<string>()).add(
          group,
        );
    for (const member of all) {
      const byNamespace = entryOf(
        this.#workloads,
        `${member.group}\n${member.selector}`,
        () => new Map<string, Set<string>>(),
      );
      entryOf(byNamespace, member.namespace, () => new Set<string>()).add(this.workloadOf(member));
    }
  }

  /**
   * Bare pods with equal labels are one workload, called like the selector: nothing else says that they
   * belong together. Where that name means something else, each is its own.
   */
  workloadOf({ namespace, selector, workload, isBare }: AppGroupMember): string {
    if (!isBare) return workload;
    const name = fullName({ namespace, name: selector });
    return this.#bareGroups.get(name)?.size === 1 && !this.#taken.has(name) ? selector : workload;
  }

  /**
   * A selector that nothing carries yet stands for a workload of its name, unless there is another one of
   * that name: so its first pods are known before they are seen.
   */
  refer({ id: group, namespaces }: AppGroupScope, reference: WorkloadReference): ReferredWorkloads {
    const { selector } = reference;
    if (selector === null) {
      const { namespace, name } = reference;
      return {
        workloads: [{ namespace: namespace ?? group.namespace, name: name ?? "" }],
        isMatched: true,
      };
    }
    const isGroup = (other: AppGroupId): boolean => this.#groups.has(fullName(other));
    const workloads: DeclaredWorkload[] = [];
    for (const [namespace, names] of this.#workloads.get(`${group.name}\n${selector}`) ?? [])
      if (hasPodsIn(group, namespaces, namespace, isGroup))
        for (const name of names) workloads.push({ namespace, name });
    if (workloads.length > 0) return { workloads: workloads.sort(byFullName), isMatched: true };
    const standIn = { namespace: group.namespace, name: selector };
    const isFree =
      LABEL_VALUE.test(selector) &&
      !this.#taken.has(fullName(standIn)) &&
      !this.#bareGroups.has(fullName(standIn));
    return { workloads: isFree ? [standIn] : [], isMatched: false };
  }
}

/** Selectors of the AppGroup that no pod and no pod template carries. */
export function unmatchedSelectors(text: AppGroupText<unknown>, members: AppGroupMembers): string[] {
  return text.selected
    .filter((reference) => !members.refer(text, reference).isMatched)
    .map(({ selector }) => selector!);
}

const MAX_SHOWN = 5;
const MAX_SHOWN_CHARACTERS = 63;

/** One sentence on selectors that nothing carries. */
export function unmatchedText({ namespace, name }: AppGroupId, selectors: readonly string[]): string {
  const shown = selectors
    .slice(0, MAX_SHOWN)
    .map((selector) => JSON.stringify(selector.slice(0, MAX_SHOWN_CHARACTERS)))
    .join(", ");
  const more = selectors.length > MAX_SHOWN ? ` and ${selectors.length - MAX_SHOWN} more` : "";
  const labels = `${APP_GROUP_LABELS.group}=${name} and ${APP_GROUP_LABELS.selector}=SELECTOR`;
  return `AppGroup ${namespace}/${name}: no pod and no pod template has the labels ${labels} for the selector${selectors.length > 1 ? "s" : ""} ${shown}${more}`;
}

const LABEL_VALUE = /^[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;

function referenceOf(value: unknown): WorkloadReference | null {
  const { namespace, name, selector } = looseFields<WorkloadReference>(value);
  if (!isText(selector) && !isText(name)) return null;
  return {
    namespace: isText(namespace) ? namespace : null,
    name: isText(name) ? name : null,
    selector: isText(selector) ? selector : null,
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function entryOf<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

function fullName({ namespace, name }: DeclaredWorkload): string {
  return `${namespace}/${name}`;
}

function byFullName(a: DeclaredWorkload, b: DeclaredWorkload): number {
  const [one, other] = [fullName(a), fullName(b)];
  return one < other ? -1 : one > other ? 1 : 0;
}
