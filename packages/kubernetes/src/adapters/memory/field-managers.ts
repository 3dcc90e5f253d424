import { StoreError } from "../../store/errors.ts";
import type { KubernetesObject } from "../../store/port.ts";
import { fieldPaths, mergeApplied, sameAt, without } from "./field-paths.ts";
import type { FieldPath, FieldPaths } from "./field-paths.ts";
import { isBuiltIn } from "./kinds.ts";
/**
 * Fields of one manager by one way of writing. Applied fields vanish when a later apply omits them; updated
 * ones stay.
 */
interface Owned {
  readonly manager: string;
  readonly paths: FieldPaths;
}

/**
 * Field ownership of one object. Immutable. `sole`: one manager updated everything, so fields aren't listed
 * until a second writer comes.
 */
export type FieldManagers =
  | { readonly sole: string }
  | { readonly updated: readonly Owned[]; readonly applied: ReadonlyMap<string, Owned> };

export interface Application {
  readonly manager: string;
  readonly subresource: string;
  readonly force: boolean;
}

export function managersAfterUpdate(
  managers: FieldManagers,
  before: KubernetesObject,
  after: KubernetesObject,
  manager: string,
): FieldManagers {
  if ("sole" in managers && managers.sole === manager) return managers;
  const { updated, applied } = listed(managers, before);
  const paths = fieldPaths(after);
  const changed = new Map([...paths].filter(([, path]) => !sameAt(before, after, path)));
  const kept = (owned: Owned): Owned => ({
    ...owned,
    paths: filtered(owned.paths, (text) => paths.has(text) && !changed.has(text)),
  });
  const mine = updated.find((owned) => owned.manager === manager)?.paths ?? new Map<string, FieldPath>();
  const own = { manager, paths: filtered(new Map([...mine, ...changed]), (text) => paths.has(text)) };
  return {
    updated: [...updated.filter((owned) => owned.manager !== manager).map(kept), own].filter(isOwner),
    applied: new Map([...applied].map(([key, owned]) => [key, kept(owned)])),
  };
}

export function applyFields(
  stored: KubernetesObject | null,
  managers: FieldManagers | null,
  config: KubernetesObject,
  application: Application,
): { readonly object: KubernetesObject; readonly managers: FieldManagers } {
  const { manager, subresource, force } = application;
  const id = `${manager}/${subresource}`;
  const wanted = fieldPaths(config);
  if (!stored || !managers) {
    return {
      object: config,
      managers: { updated: [], applied: new Map([[id, { manager, paths: wanted }]]) },
    };
  }
  const { updated, applied } = listed(managers, stored);
  const merged = mergeApplied(stored, config, isBuiltIn(stored)) as KubernetesObject;
  const changed = filtered(wanted, (_, path) => !sameAt(stored, merged, path));
  const others = [...updated, ...[...applied].filter(([key]) => key !== id).map(([, owned]) => owned)];
  if (!force) refuseConflicts(stored, others, changed);
  const dropped = filtered(
    applied.get(id)?.paths ?? new Map<string, FieldPath>(),
    (text, path) =>
      !wanted.has(text) && !isAround(path, wanted) && !others.some((owned) => ownsWithin(owned, text)),
  );
  const object = [...dropped.values()]
    .toSorted((a, b) => b.steps.length - a.steps.length)
    .reduce(without, merged);
  const present = fieldPaths(object);
  const kept = (owned: Owned): Owned => ({
    ...owned,
    paths: filtered(owned.paths, (text) => present.has(text) && !changed.has(text)),
  });
  const after = new Map([...applied].map(([key, owned]) => [key, kept(owned)]));
  after.set(id, { manager, paths: filtered(wanted, (text) => present.has(text)) });
  return { object, managers: { updated: updated.map(kept).filter(isOwner), applied: after } };
}

/** Compares field ownership. If it is equal, an apply without changed values writes nothing. */
export function sameManagers(a: FieldManagers, b: FieldManagers): boolean {
  if ("sole" in a || "sole" in b) return "sole" in a && "sole" in b && a.sole === b.sole;
  const texts = ({ updated, applied }: typeof a): string =>
    JSON.stringify([
      updated.map(ownedText).toSorted(),
      [...applied].map(([key, owned]) => key + ownedText(owned)).toSorted(),
    ]);
  return texts(a) === texts(b);
}

function listed(
  managers: FieldManagers,
  object: KubernetesObject,
): Exclude<FieldManagers, { readonly sole: string }> {
  if (!("sole" in managers)) return managers;
  return { updated: [{ manager: managers.sole, paths: fieldPaths(object) }], applied: new Map() };
}

function refuseConflicts(object: KubernetesObject, others: readonly Owned[], changed: FieldPaths): void {
  const conflicts = others.flatMap(({ manager, paths }) => {
    const fields = [...changed.keys()].filter((text) => paths.has(text));
    return fields.length === 0 ? [] : [{ manager, fields }];
  });
  if (conflicts.length === 0) return;
  const count = conflicts.reduce((sum, { fields }) => sum + fields.length, 0);
  const texts = conflicts.map(({ manager, fields }) => `conflict with "${manager}": ${fields.join(", ")}`);
  const { kind, metadata } = object;
  throw new StoreError(
    "conflict",
    `apply of ${kind} ${metadata.namespace ? `${metadata.namespace}/` : ""}${metadata.name} failed with ` +
      `${count} ${count === 1 ? "conflict" : "conflicts"}: ${texts.join("; ")}`,
  );
}

/** Whether a path is a parent of wanted fields: an applied empty map may contain some now. */
function isAround({ steps }: FieldPath, wanted: FieldPaths): boolean {
  const text = JSON.stringify(steps);
  return [...wanted.values()].some(
    (path) => path.steps.length > steps.length && JSON.stringify(path.steps.slice(0, steps.length)) === text,
  );
}

/** Whether a manager owns part of a list element, which then stays. */
function ownsWithin({ paths }: Owned, text: string): boolean {
  if (paths.has(text)) return true;
  return text.endsWith("]") && [...paths.keys()].some((other) => other.startsWith(`${text}.`));
}

function isOwner({ paths }: Owned): boolean {
  return paths.size > 0;
}

function ownedText({ manager, paths }: Owned): string {
  return JSON.stringify([manager, [...paths.keys()].toSorted()]);
}

function filtered(
  paths: FieldPaths,
  keep: (text: string, path: FieldPath) => boolean,
): ReadonlyMap<string, FieldPath> {
  return new Map([...paths].filter(([text, path]) => keep(text, path)));
}
