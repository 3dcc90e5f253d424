import { isDeepStrictEqual } from "node:util";

import { isPlainObject } from "../../store/json.ts";
import type { KubernetesObject } from "../../store/port.ts";
import { isBuiltIn } from "./kinds.ts";

const LIST_KEYS: Readonly<Record<string, readonly string[]>> = {
  conditions: ["type"],
  addresses: ["type"],
  containers: ["name"],
  initContainers: ["name"],
  env: ["name"],
  volumes: ["name"],
  schedulingGates: ["name"],
  imagePullSecrets: ["name"],
  volumeMounts: ["mountPath"],
  ownerReferences: ["uid"],
};
/** Lists of texts whose elements are owned separately. */
const SETS: ReadonlySet<string> = new Set(["finalizers"]);
const DEFAULT_PROTOCOL = "TCP";

type Step = string | { readonly list: string; readonly key: string };

/** An owned field: an atomic value, or an element of a keyed list. */
export interface FieldPath {
  readonly steps: readonly Step[];
  readonly isElement: boolean;
}

/** Keyed as the API server prints them: `.spec.containers[name="main"].image`. */
export type FieldPaths = ReadonlyMap<string, FieldPath>;

/** Unowned metadata: identity and server-set fields. */
const UNOWNED_METADATA: ReadonlySet<string> = new Set([
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
]);

export function fieldPaths(object: KubernetesObject): Map<string, FieldPath> {
  const paths = new Map<string, FieldPath>();
  // Lists of custom resources are atomic unless their schema says otherwise.
  const keyed = isBuiltIn(object);
  const { apiVersion: _, kind: __, metadata, ...rest } = object;
  for (const [name, value] of Object.entries(metadata)) {
    if (!UNOWNED_METADATA.has(name))
      collect(paths, value, `.metadata.${name}`, ["metadata", name], name, keyed);
  }
  for (const [name, value] of Object.entries(rest)) collect(paths, value, `.${name}`, [name], name, keyed);
  return paths;
}

export function sameAt(a: KubernetesObject, b: KubernetesObject, path: FieldPath): boolean {
  const [left, right] = [valueAt(a, path.steps), valueAt(b, path.steps)];
  if (left === undefined || right === undefined) return false;
  return path.isElement || isDeepStrictEqual(left, right);
}

/** Merges maps and keyed lists, and replaces other values. Changes neither argument. */
export function mergeApplied(live: unknown, applied: unknown, keyed: boolean, list = ""): unknown {
  if (isPlainObject(applied) && isPlainObject(live)) {
    const merged = { ...live };
    for (const [name, value] of Object.entries(applied)) {
      merged[name] = Object.hasOwn(live, name) ? mergeApplied(live[name], value, keyed, name) : value;
    }
    return merged;
  }
  if (!Array.isArray(applied) || !Array.isArray(live)) return applied;
  const [before, after] = [elementsByKey(live, list, keyed), elementsByKey(applied, list, keyed)];
  if (!before || !after) return applied;
  const merged = new Map(before);
  for (const [key, element] of after)
    merged.set(key, merged.has(key) ? mergeApplied(merged.get(key), element, keyed) : element);
  return [...merged.values()];
}

/** Removes a field, and the maps and lists that become empty. */
export function without(object: KubernetesObject, path: FieldPath): KubernetesObject {
  return (removed(object, path.steps) ?? object) as KubernetesObject;
}

function collect(
  paths: Map<string, FieldPath>,
  value: unknown,
  text: string,
  steps: readonly Step[],
  list: string,
  keyed: boolean,
): void {
  if (isPlainObject(value) && Object.keys(value).length > 0) {
    for (const [name, member] of Object.entries(value))
      collect(paths, member, `${text}.${name}`, [...steps, name], name, keyed);
    return;
  }
  const elements = Array.isArray(value) && value.length > 0 ? elementsByKey(value, list, keyed) : null;
  if (!elements) {
    paths.set(text, { steps, isElement: false });
    return;
  }
  for (const [key, element] of elements) {
    const at = [...steps, { list, key }];
    paths.set(text + key, { steps: at, isElement: true });
    if (!isPlainObject(element)) continue;
    const keys = keysOf(element, list);
    for (const [name, member] of Object.entries(element)) {
      if (!keys.includes(name)) collect(paths, member, `${text}${key}.${name}`, [...at, name], name, keyed);
    }
  }
}

/** Elements of a keyed list. Null: the list is atomic, or keys repeat. */
function elementsByKey(
  elements: readonly unknown[],
  list: string,
  keyed: boolean,
): Map<string, unknown> | null {
  if (!keyed) return null;
  const byKey = new Map<string, unknown>();
  for (const element of elements) {
    const key = keyText(element, list);
    if (key === null || byKey.has(key)) return null;
    byKey.set(key, element);
  }
  return byKey;
}

function keyText(element: unknown, list: string): string | null {
  if (SETS.has(list)) return typeof element === "string" ? `[=${JSON.stringify(element)}]` : null;
  if (!isPlainObject(element)) return null;
  const names = keysOf(element, list);
  if (names.length === 0) return null;
  const parts: string[] = [];
  for (const name of names) {
    const value = element[name] ?? (name === "protocol" ? DEFAULT_PROTOCOL : undefined);
    if (typeof value !== "string" && typeof value !== "number") return null;
    parts.push(`${name}=${JSON.stringify(value)}`);
  }
  return `[${parts.join(",")}]`;
}

/** Container ports have the key containerPort, Service ports the key port, both with the protocol. */
function keysOf(element: Readonly<Record<string, unknown>>, list: string): readonly string[] {
  if (list !== "ports") return LIST_KEYS[list] ?? [];
  return [element.containerPort === undefined ? "port" : "containerPort", "protocol"];
}

function valueAt(root: unknown, steps: readonly Step[]): unknown {
  let value = root;
  for (const step of steps) {
    if (typeof step === "string")
      value = isPlainObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
    else value = Array.isArray(value) ? elementsByKey(value, step.list, true)?.get(step.key) : undefined;
    if (value === undefined) return undefined;
  }
  return value;
}

function removed(value: unknown, [step, ...rest]: readonly Step[]): unknown {
  if (step === undefined) return undefined;
  if (typeof step === "string") {
    if (!isPlainObject(value) || !Object.hasOwn(value, step)) return value;
    const { [step]: member, ...others } = value;
    const left = removed(member, rest);
    if (left !== undefined) return { ...value, [step]: left };
    return Object.keys(others).length > 0 ? others : undefined;
  }
  if (!Array.isArray(value)) return value;
  const left = value.flatMap((element: unknown) => {
    if (keyText(element, step.list) !== step.key) return [element];
    const rested = removed(element, rest);
    return rested === undefined ? [] : [rested];
  });
  return left.length > 0 ? left : undefined;
}
