import { keyOf } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { SchedulingModel } from "@isochrone/placement";
import type { Clock } from "@isochrone/runtime";
import type { ClusterObjectLists } from "../adapters/cluster-objects.ts";

export interface ClusterView {
  readonly model: SchedulingModel;
  readonly pods: ReadonlyMap<string, KubernetesObject>;
}

/** Longest delay of kube-scheduler while pods are added to the model. */
const SLICE_MS = 5;
const SLICE_PODS = 200;

/**
 * Built per round in slices: 100,000 pods take 1 s, and a permanent copy would cost every replica memory for
 * one use a minute. @returns null if aborted
 */
export async function clusterView(
  objects: ClusterObjectLists,
  items: readonly KubernetesObject[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<ClusterView | null> {
  const model = SchedulingModel.of({ ...objects, pods: [] });
  const pods = new Map<string, KubernetesObject>();
  let beganMs = clock.monotonic();
  for (const [index, pod] of items.entries()) {
    model.observe(pod);
    pods.set(keyOf(pod), pod);
    if (index % SLICE_PODS > 0 || clock.monotonic() - beganMs < SLICE_MS) continue;
    await yielded();
    if (signal.aborted) return null;
    beganMs = clock.monotonic();
  }
  return { model, pods };
}

export function yielded(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
