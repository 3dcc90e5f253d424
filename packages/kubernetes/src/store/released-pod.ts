// A pod of a Deployment that serves on until its replacement is ready: it is taken out of its ReplicaSet,
// which starts another one. Without the label, Services still select it and no ReplicaSet does. Its
// controller is the Deployment meanwhile: no other ReplicaSet adopts it, and it goes with the Deployment.
import { looseFields, parseJson } from "@isochrone/primitives";
import { KINDS } from "../kinds.ts";
import { annotationPath } from "./move-record.ts";
import { timestamp } from "./objects.ts";
import type { JsonPatchOperation, KubernetesObject, OwnerReference } from "./port.ts";

/**
 * Annotation of a pod that serves until its replacement is ready: the ReplicaSet that it was taken from, and
 * the target. JSON of {@link PodRelease}.
 */
export const MOVING_ANNOTATION = "isochrone.dev/moving";
/** Longest annotation that is read; ours is shorter. */
const MAX_CHARACTERS = 4_096;
/** Names the ReplicaSet's template; in the selector of each ReplicaSet of a Deployment. */
export const TEMPLATE_HASH_LABEL = "pod-template-hash";

/** All that another leader needs to finish or undo the move. */
export interface PodRelease {
  readonly replicaSet: { readonly name: string; readonly uid: string };
  readonly hash: string;
  readonly to: string;
  /** Pods of the ReplicaSet that were on the target already. */
  readonly before: number;
  /** Pods that the ReplicaSet was to have. */
  readonly replicas: number;
  /** Wall clock milliseconds; RFC 3339 on the wire. */
  readonly deadlineMs: number;
}

/** null: the pod isn't released, or its annotation can't be read. */
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
 * Releases the pod in one patch. For `jsonPatch`: refused with StoreError `conflict` when the pod isn't the
 * one that was read any more.
 *
 * @returns null if the pod can't be released: its ReplicaSet isn't of a Deployment
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

/** Gives a released pod back to its ReplicaSet, in one patch, with the same guards. */
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

/** blockOwnerDeletion would take rights on the owner's finalizers in some clusters. */
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
