// A pod that serves until its replacement is ready. Without the template label its ReplicaSet replaces it,
// while Services still select it. The Deployment owns it, so no ReplicaSet adopts it.
import { looseFields, parseJson } from "@isochrone/primitives";
import { KINDS } from "../kinds.ts";
import { annotationPath } from "./move-record.ts";
import { timestamp } from "./objects.ts";
import type { JsonPatchOperation, KubernetesObject, OwnerReference } from "./port.ts";

/**
 * Annotation of a pod that serves until its replacement is ready: the ReplicaSet that it was taken from, and
 * the target, JSON of {@link PodRelease}.
 */
export const MOVING_ANNOTATION = "isochrone.dev/moving";
const MAX_CHARACTERS = 4_096;
/** Template hash in the selector of each ReplicaSet of a Deployment. */
export const TEMPLATE_HASH_LABEL = "pod-template-hash";

/** All data for another leader to finish or undo the move. */
export interface PodRelease {
  readonly replicaSet: { readonly name: string; readonly uid: string };
  readonly hash: string;
  readonly to: string;
  readonly before: number;
  /** Desired number of pods of the ReplicaSet. */
  readonly replicas: number;
  /** Expiry of the move in wall clock milliseconds; RFC 3339 on the wire. */
  readonly deadlineMs: number;
}

export function readRelease(pod: KubernetesObject): PodRelease | null {
  const { replicaSet, hash, to, before, replicas, deadline } = looseFields(parsed(pod));
  const { name, uid } = looseFields<OwnerReference>(replicaSet);
  const deadlineMs = typeof deadline === "string" ? Date.parse(deadline) : Number.NaN;
  if (typeof name !== "string" || typeof uid !== "string" || typeof hash !== "string") return null;
  if (typeof to !== "string" || typeof before !== "number" || Number.isNaN(deadlineMs)) return null;
  if (typeof replicas !== "number") return null;
  return { replicaSet: { name, uid }, hash, to, before, replicas, deadlineMs };
}

/**
 * Releases the pod. For `jsonPatch`: throws StoreError `conflict` if the pod changed.
 * @returns null if its ReplicaSet isn't of a Deployment
 */
export function releasePatch(
  pod: KubernetesObject,
  replicaSet: KubernetesObject,
  { to, before, deadlineMs }: Pick<PodRelease, "to" | "before" | "deadlineMs">,
): JsonPatchOperation[] | null {
  const { labels = {}, annotations, ownerReferences = [] } = pod.metadata;
  const hash = labels[TEMPLATE_HASH_LABEL];
  const { name, uid } = replicaSet.metadata;
  const { replicas } = looseFields<{ readonly replicas: number }>(replicaSet.spec);
  const above = replicaSet.metadata.ownerReferences?.find(({ controller }) => controller === true);
  const owners = ownerReferences.map((owner) => (owner.uid === uid ? deploymentOf(above) : owner));
  if (hash === undefined || uid === undefined || above?.kind !== KINDS.deployment.kind) return null;
  const value = JSON.stringify({
    replicaSet: { name, uid },
    hash,
    to,
    before,
    replicas: replicas ?? 1,
    deadline: timestamp(deadlineMs),
  });
  return [
    ...guardsOf(pod),
    { op: "remove", path: `/metadata/labels/${TEMPLATE_HASH_LABEL}` },
    { op: "replace", path: "/metadata/ownerReferences", value: owners },
    ...(annotations === undefined
      ? [{ op: "add", path: "/metadata/annotations", value: { [MOVING_ANNOTATION]: value } } as const]
      : [{ op: "add", path: annotationPath(MOVING_ANNOTATION), value } as const]),
  ];
}

/** Returns the pod to its ReplicaSet, with the same guards. */
export function restorePatch(pod: KubernetesObject, { replicaSet, hash }: PodRelease): JsonPatchOperation[] {
  const { labels, ownerReferences = [] } = pod.metadata;
  const owner = { ...KINDS.replicaSet, ...replicaSet, controller: true };
  const others = ownerReferences.filter(({ controller }) => controller !== true);
  return [
    ...guardsOf(pod),
    ...(labels === undefined ? [{ op: "add", path: "/metadata/labels", value: {} } as const] : []),
    { op: "add", path: `/metadata/labels/${TEMPLATE_HASH_LABEL}`, value: hash },
    { op: "add", path: "/metadata/ownerReferences", value: [owner, ...others] },
    { op: "remove", path: annotationPath(MOVING_ANNOTATION) },
  ];
}

function guardsOf({ metadata: { uid, resourceVersion } }: KubernetesObject): JsonPatchOperation[] {
  return [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
  ];
}

/** Owner reference without blockOwnerDeletion, which can require rights on finalizers. */
function deploymentOf(owner: OwnerReference | undefined): OwnerReference {
  const { apiVersion, kind, name, uid } = owner ?? { ...KINDS.deployment, name: "", uid: "" };
  return { apiVersion, kind, name, uid, controller: true };
}

function parsed({ metadata: { annotations } }: KubernetesObject): unknown {
  const text = annotations?.[MOVING_ANNOTATION];
  try {
    return text === undefined || text.length > MAX_CHARACTERS ? null : parseJson(text);
  } catch {
    return null;
  }
}
