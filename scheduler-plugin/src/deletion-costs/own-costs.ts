import { isStoreError, KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { DELETION_COST, isMarked, OWN_COST } from "../dispatch/replicas/surplus-pods.ts";

/** The cost that we wrote, 0 without any; null if someone else's is set. */
export function ownCost(pod: KubernetesObject): number | null {
  const { annotations = {} } = pod.metadata;
  const said = annotations[DELETION_COST];
  if (said === undefined) return 0;
  return said === annotations[OWN_COST] && !isMarked(pod) ? Number(said) : null;
}

export function hasOwnCost({ metadata: { annotations = {} } }: KubernetesObject): boolean {
  return annotations[OWN_COST] !== undefined;
}

/** False if the pod has changed or is gone. 0 removes our cost, never others'. Throws StoreErrors. */
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
    await store.patch({ ...KINDS.pod, namespace, name }, { metadata: { uid, resourceVersion, annotations } });
    return true;
  } catch (error) {
    if (isStoreError(error, "conflict") || isStoreError(error, "not_found")) return false;
    throw error;
  }
}
