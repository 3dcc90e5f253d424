import { isStoreError, KINDS, podView, timestamp, withConditions } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock } from "@isochrone/runtime";

interface LostNodeOptions {
  readonly store: Pick<ClusterStore, "get" | "list" | "patch" | "delete">;
  readonly node: string;
  /** Silence before it is noticed; Kubernetes waits 50 s. @default 5000 */
  readonly graceMs?: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const GRACE_MS = 5_000;
const TAINT = "node.kubernetes.io/unreachable";

/**
 * Marks the node unready and deletes its pods, like the node lifecycle controller and taint eviction, but
 * without the default toleration of five minutes. Deletes by force, because no kubelet confirms.
 * @returns the pods that were on it
 */
export async function loseNode(options: LostNodeOptions): Promise<readonly KubernetesObject[]> {
  const { store, node, graceMs = GRACE_MS, clock, signal } = options;
  await clock.sleep(graceMs, signal);
  const ref = { ...KINDS.node, name: node };
  const found = await store.get(ref);
  if (found === null) return [];
  const unknown = {
    type: "Ready",
    status: "Unknown",
    reason: "NodeStatusUnknown",
    message: "Kubelet stopped posting node status.",
  };
  const conditions = withConditions(found, [unknown], timestamp(clock.now()));
  await store.patch(ref, { status: { conditions } }, { subresource: "status" });
  const taints = ["NoSchedule", "NoExecute"].map((effect) => ({ key: TAINT, effect }));
  await store.patch(ref, { spec: { taints } });
  const { items } = await store.list(KINDS.pod);
  const pods = items.filter((pod) => podView(pod).node === node && !podView(pod).finished);
  for (const { metadata } of pods) {
    const { namespace = "default", name } = metadata;
    try {
      await store.delete({ ...KINDS.pod, namespace, name }, { gracePeriodSeconds: 0 });
    } catch (error) {
      if (!isStoreError(error, "not_found")) throw error;
    }
  }
  return pods;
}
