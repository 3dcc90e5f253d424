import { StoreError } from "./errors.ts";
import type { KubernetesObject } from "../kinds.ts";

/** Maximum nesting, deeper than any Kubernetes object; stops cycles. */
const MAX_DEPTH = 64;

type JsonObject = Record<string, unknown>;

/**
 * Deep-copies JSON data. Drops undefined members, and `__proto__`, which would set the prototype. Throws
 * StoreError `invalid` for other values.
 */
export function cloneJson<T>(value: T, depth = 0): T {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (depth > MAX_DEPTH)
    throw new StoreError("invalid", `an object must be at most ${MAX_DEPTH} levels deep`);
  if (Array.isArray(value)) return value.map((item: unknown) => cloneJson(item ?? null, depth + 1)) as T;
  if (!isPlainObject(value))
    throw new StoreError("invalid", `an object must hold JSON values only, got ${describe(value)}`);
  const copy: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined && key !== "__proto__") copy[key] = cloneJson(member, depth + 1);
  }
  return copy as T;
}

/** JSON merge patch (RFC 7396) into a new value. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isPlainObject(patch)) return cloneJson(patch);
  const merged: JsonObject = isPlainObject(target) ? cloneJson(target) : {};
  for (const [key, value] of Object.entries(patch)) {
    if (key === "__proto__" || value === undefined) continue;
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(Object.hasOwn(merged, key) ? merged[key] : undefined, value);
  }
  return merged;
}

export function isPlainObject(value: unknown): value is JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

export function isObject(value: unknown): value is KubernetesObject {
  return isPlainObject(value) && isPlainObject(value.metadata);
}

function describe(value: unknown): string {
  return typeof value === "number"
    ? String(value)
    : typeof value === "object"
      ? "a class instance"
      : `a ${typeof value}`;
}
