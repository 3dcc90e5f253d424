import { isDeepStrictEqual } from "node:util";

import { looseFields } from "@isochrone/primitives";
import { withConditions } from "../../store/conditions.ts";
import { StoreError } from "../../store/errors.ts";
import { timestamp } from "../../store/objects.ts";
import type { KubernetesObject, ObjectMeta, Pod } from "../../kinds.ts";
import { hasStatusSubresource, isBuiltIn } from "./kinds.ts";

const DEFAULT_GRACE_SECONDS = 30;

const SERVER_SET = [
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const satisfies readonly (keyof ObjectMeta)[];

export function newObject(object: KubernetesObject, uid: string, nowMs: number): KubernetesObject {
  const { metadata, ...rest } = unstamped(object);
  return {
    ...rest,
    metadata: { ...metadata, uid, generation: 1, creationTimestamp: timestamp(nowMs) },
  };
}

/**
 * Combines the caller's content with the store's metadata. Throws for changes that the API server forbids.
 * @param next a private copy
 */
export function replacement(stored: KubernetesObject, next: KubernetesObject): KubernetesObject {
  const kept: Partial<ObjectMeta> = {};
  for (const field of SERVER_SET) {
    if (stored.metadata[field] !== undefined) Object.assign(kept, { [field]: stored.metadata[field] });
  }
  const caller = unstamped(next);
  const merged: KubernetesObject = { ...caller, metadata: { ...caller.metadata, ...kept } };
  forbidRebinding(stored, merged);
  forbidNewFinalizers(stored, merged);
  if (!isDeepStrictEqual(intent(stored), intent(merged)))
    merged.metadata.generation = (stored.metadata.generation ?? 0) + 1;
  return merged;
}

export function unstamped(object: KubernetesObject): KubernetesObject {
  const metadata: ObjectMeta & { managedFields?: unknown } = { ...object.metadata };
  for (const field of SERVER_SET) delete metadata[field];
  delete metadata.managedFields;
  return { ...object, metadata };
}

export function scaled(object: KubernetesObject, from: number, to: number): KubernetesObject {
  const { replicas = 1 } = looseFields(object.spec);
  if (replicas === from) return { ...object, spec: { ...object.spec, replicas: to } };
  const { namespace, name } = object.metadata;
  throw new StoreError("conflict", `${namespace}/${name} hasn't ${from} replicas, but ${String(replicas)}`);
}

export function bound(pod: Pod, nodeName: string, nowMs: number): Pod {
  const subject = `pod ${pod.metadata.namespace}/${pod.metadata.name}`;
  const current = pod.spec?.nodeName;
  if (typeof current === "string" && current !== "") {
    throw new StoreError("conflict", `${subject} is already assigned to node ${current}`);
  }
  if (pod.metadata.deletionTimestamp) {
    throw new StoreError("conflict", `${subject} is being deleted, cannot be assigned to a node`);
  }
  const gates = pod.spec?.schedulingGates;
  if (Array.isArray(gates) && gates.length > 0) {
    throw new StoreError("conflict", `${subject} has non-empty spec.schedulingGates`);
  }
  const scheduled = { type: "PodScheduled", status: "True" };
  return {
    ...pod,
    metadata: { ...pod.metadata, generation: (pod.metadata.generation ?? 0) + 1 },
    spec: { ...pod.spec, nodeName },
    status: { ...pod.status, conditions: withConditions(pod, [scheduled], timestamp(nowMs)) },
  };
}

/** Returns the object after a delete; null if it vanishes at once. */
export function deletion(
  object: KubernetesObject,
  requestedGraceSeconds: number | undefined,
  nowMs: number,
): KubernetesObject | null {
  const { metadata } = object;
  const grace = graceSeconds(object, requestedGraceSeconds);
  const held = (metadata.finalizers?.length ?? 0) > 0;
  if (grace === 0 && !held) return null;
  // A repeated delete can only shorten the grace period.
  if (metadata.deletionTimestamp && (metadata.deletionGracePeriodSeconds ?? 0) <= grace) return object;
  return {
    ...object,
    metadata: {
      ...metadata,
      deletionTimestamp: timestamp(nowMs + grace * 1000),
      deletionGracePeriodSeconds: grace,
    },
  };
}

export function isGone({ metadata }: KubernetesObject): boolean {
  return (
    metadata.deletionTimestamp !== undefined &&
    metadata.deletionGracePeriodSeconds === 0 &&
    (metadata.finalizers?.length ?? 0) === 0
  );
}

/** Only unfinished pods on a node get a grace period: nobody would end it for others. */
function graceSeconds(object: KubernetesObject, requested: number | undefined): number {
  if (requested !== undefined && (!Number.isSafeInteger(requested) || requested < 0)) {
    throw new StoreError(
      "invalid",
      `gracePeriodSeconds must be a whole number of at least 0, got ${requested}`,
    );
  }
  if (object.kind !== "Pod" || object.apiVersion !== "v1") return 0;
  const phase = object.status?.phase;
  if (!object.spec?.nodeName || phase === "Succeeded" || phase === "Failed") return 0;
  if (requested !== undefined) return requested;
  const own = object.spec.terminationGracePeriodSeconds;
  return typeof own === "number" && own >= 0 ? Math.floor(own) : DEFAULT_GRACE_SECONDS;
}

/**
 * Content whose change raises the generation: the spec, or for custom resources everything but metadata and a
 * status subresource.
 */
function intent(object: KubernetesObject): unknown {
  if (isBuiltIn(object)) return object.spec;
  return { ...object, metadata: null, ...(hasStatusSubresource(object) ? { status: null } : {}) };
}

function forbidRebinding(stored: KubernetesObject, next: KubernetesObject): void {
  if (stored.kind !== "Pod" || stored.apiVersion !== "v1") return;
  const before = stored.spec?.nodeName;
  const after = next.spec?.nodeName;
  if (before === after) return;
  throw new StoreError(
    "invalid",
    `pod ${stored.metadata.namespace}/${stored.metadata.name}: spec.nodeName must be set by bind and never changes, ` +
      `got "${String(after)}" in place of "${String(before)}"`,
  );
}

function forbidNewFinalizers(stored: KubernetesObject, next: KubernetesObject): void {
  if (!stored.metadata.deletionTimestamp) return;
  const added = (next.metadata.finalizers ?? []).filter(
    (name) => !stored.metadata.finalizers?.includes(name),
  );
  if (added.length === 0) return;
  const { kind, metadata } = stored;
  throw new StoreError(
    "invalid",
    `${kind} ${metadata.name}: metadata.finalizers must not grow while it is being deleted, got "${added.join(", ")}"`,
  );
}
