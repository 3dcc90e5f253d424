// Resolves an AppGroup's (KEP-260) workloads by their pods' labels, as upstream's plugin does.
import { looseFields, looseList, type LooseFields, type Unchecked } from "@isochrone/primitives";
import type { DeclaredWorkload } from "./declarations.ts";

export const APP_GROUP_LABELS = {
  group: "appgroup.diktyo.x-k8s.io",
  /** Label with the `selector` of the pod's workload. */
  selector: "appgroup.diktyo.x-k8s.io.workload",
} as const;

export interface AppGroupId {
  readonly namespace: string;
  readonly name: string;
}

export interface WorkloadReference {
  readonly namespace: string | null;
  /** Workload name. Null: the reference has only a selector. */
  readonly name: string | null;
  /** Selector. Null: the older form of KEP-260, in which the name identifies the workload. */
  readonly selector: string | null;
}

export interface AppGroupText<A> {
  readonly id: AppGroupId;
  readonly namespaces: ReadonlySet<string>;
  readonly dependencies: readonly AppGroupDependency<A>[];
  /** One reference to each selector of the spec. */
  readonly selected: readonly WorkloadReference[];
  readonly unreadable: number;
}

export interface AppGroupDependency<A> {
  readonly source: WorkloadReference;
  readonly target: WorkloadReference;
  readonly fields: Unchecked<Dependency>;
  /** Path of the dependency in the spec. */
  readonly path: readonly (string | number)[];
  /** The matching entry of annotation `isochrone.dev/channels`. Null: none. */
  readonly annotated: A | null;
}

interface AnnotatedPair {
  readonly source: DeclaredWorkload;
  readonly target: DeclaredWorkload;
}

export interface AppGroupMember {
  readonly namespace: string;
  readonly group: string;
  readonly selector: string;
  /** Name of the pod's workload; of a bare pod, its own name. */
  readonly workload: string;
  readonly isBare: boolean;
}

interface ReferredWorkloads {
  readonly workloads: readonly DeclaredWorkload[];
  readonly isMatched: boolean;
}

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

/** Both AppGroup labels. Null: one is missing. */
export function appGroupLabels(
  labels: LooseFields | undefined,
): Pick<AppGroupMember, "group" | "selector"> | null {
  const [group, selector] = [labels?.[APP_GROUP_LABELS.group], labels?.[APP_GROUP_LABELS.selector]];
  return isText(group) && isText(selector) ? { group, selector } : null;
}

/**
 * Reads a spec of any shape. Includes annotated channels of a workload to itself, which a spec can't express.
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

function namedBy({ namespace, name, selector }: WorkloadReference, id: AppGroupId): DeclaredWorkload {
  return { namespace: namespace ?? id.namespace, name: name ?? selector ?? "" };
}

function pairKey({ source, target }: AnnotatedPair): string {
  return `${fullName(source)}\n${fullName(target)}`;
}

/** Unlike upstream, accepts only namespaces in the spec without an AppGroup of that name. */
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
  readonly workloads: Iterable<DeclaredWorkload>;
}

type AppGroupScope = Pick<AppGroupText<unknown>, "id" | "namespaces">;

export class AppGroupMembers {
  readonly #groups: ReadonlySet<string>;
  /** Full names that already denote a workload. */
  readonly #taken: ReadonlySet<string>;
  readonly #bareGroups = new Map<string, Set<string>>();
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

  /** Bare pods with equal labels form one workload named like the selector, unless that name is taken. */
  workloadOf({ namespace, selector, workload, isBare }: AppGroupMember): string {
    if (!isBare) return workload;
    const name = fullName({ namespace, name: selector });
    return this.#bareGroups.get(name)?.size === 1 && !this.#taken.has(name) ? selector : workload;
  }

  /**
   * An unmatched selector denotes a workload of its name unless that is taken, so first pods are known in
   * advance.
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

export function unmatchedSelectors(text: AppGroupText<unknown>, members: AppGroupMembers): string[] {
  return text.selected
    .filter((reference) => !members.refer(text, reference).isMatched)
    .map(({ selector }) => selector!);
}

const MAX_SHOWN = 5;
const MAX_SHOWN_CHARACTERS = 63;

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
