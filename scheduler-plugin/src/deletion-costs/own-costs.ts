// Deletion costs of pods that are written here, and whose else they may be.
import { isStoreError, KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { DELETION_COST, isMarked, OWN_COST } from "../dispatch/replicas/surplus-pods.ts";

/** What the pod costs by us; null: somebody else says it. Without a cost 0. */
export function ownCost(pod: KubernetesObject): number | null {
  const { annotations = {} } = pod.metadata;
  const said = annotations[DELETION_COST];
  if (said === undefined) return 0;
  return said === annotations[OWN_COST] && !isMarked(pod) ? Number(said) : null;
}

/** Whether something of ours is on it. */
export function hasOwnCost({ metadata: { annotations = {} } }: KubernetesObject): boolean {
  return annotations[OWN_COST] !== undefined;
}

/**
 * Whether it was written: not if the pod has changed since, or is gone. 0 takes ours away, and leaves what
 * others wrote. Throws StoreErrors.
 */
export async function writeCost(
  store: Pick<ClusterStore, "patch">,
  pod: KubernetesObject,
  cost: number,
): Promise<boolean> {
  const { namespace = "default", name, uid, resourceVersion } = pod.metadata;
  const text = cost === 0 ? null : String(cost);
  const annotations = {
    [OWN_COST]: text,
    ...(ownCost(pod) === null ? {} : { [DELETION_COST]: text }),
  };
  try {
    // Whoever says another cost meanwhile has it.
    await store.patch({ ...KINDS.pod, namespace, name }, { metadata: { uid, resourceVersion, annotations } });
    return true;
  } catch (error) {
    if (isStoreError(error, "conflict") || isStoreError(error, "not_found")) return false;
    throw error;
  }
}
