// Pods that the descheduler detached from their ReplicaSets during a move. Nobody else returns them.
import { isStoreError, KINDS, MOVING_ANNOTATION, readRelease, restorePatch } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { reasonOf } from "@isochrone/primitives";

interface GiveBackOptions {
  readonly nowMs: number;
  /** Also pods whose move is in progress: the descheduler is being removed. */
  readonly all: boolean;
  readonly dryRun: boolean;
}

/** ReplicaSets then delete one pod each; pods without one are garbage-collected. @returns a line per pod */
export async function giveBackMovingPods(
  store: ClusterStore,
  { nowMs, all, dryRun }: GiveBackOptions,
): Promise<{ readonly lines: readonly string[]; readonly failed: number }> {
  const { items } = await store.list(KINDS.pod, { trim: releasedAlone });
  const lines: string[] = [];
  let failed = 0;
  for (const pod of items) {
    const release = readRelease(pod);
    if (release === null || (!all && release.deadlineMs > nowMs)) continue;
    const { namespace = "default", name } = pod.metadata;
    const ref = { ...KINDS.pod, namespace, name };
    const to = `to ReplicaSet ${release.replicaSet.name}`;
    let result = `${dryRun ? "would be given back" : "given back"} ${to}`;
    try {
      if (!dryRun) await store.jsonPatch(ref, restorePatch(pod, release), { isUnexplained: true });
    } catch (error) {
      if (isStoreError(error, "not_found")) continue;
      failed++;
      result = `can't be given back: ${reasonOf(error)}`;
    }
    lines.push(`Pod ${namespace}/${name}: ${result}`);
  }
  return { lines, failed };
}

function releasedAlone({ apiVersion, kind, metadata }: KubernetesObject): KubernetesObject {
  const { namespace = "default", name, uid, resourceVersion, annotations } = metadata;
  if (annotations?.[MOVING_ANNOTATION] !== undefined) return { apiVersion, kind, metadata };
  return {
    apiVersion,
    kind,
    metadata: {
      namespace,
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
  };
}
