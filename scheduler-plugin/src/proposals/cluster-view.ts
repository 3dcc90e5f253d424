import { keyOf } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { SchedulingModel } from "@isochrone/placement";
import type { Clock } from "@isochrone/runtime";
import type { ClusterObjectLists } from "../adapters/cluster-objects.ts";

/** The cluster as kube-scheduler's filters see it, at one time. */
export interface ClusterView {
  readonly model: SchedulingModel;
  readonly pods: ReadonlyMap<string, KubernetesObject>;
}

/** kube-scheduler waits for so long at most while pods are put into the model. */
const SLICE_MS = 5;
const SLICE_PODS = 200;

/**
 * Made anew for each round, in slices: 100,000 pods take a second. One that is kept up to date would cost
 * every replica its memory for something that is wanted once a minute. @returns null when it was aborted
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

/** After whatever came in meanwhile. */
export function yielded(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
