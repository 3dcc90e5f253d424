import { meshNames, type KubernetesObject } from "@isochrone/kubernetes";

/**
 * A proxy of the node goes on to show what a pod counted last: it is taken for so long after the pod has
 * gone.
 */
const KEPT_MS = 600_000;

/** Workloads with pods on the node, now or a moment ago. */
export class NodeWorkloads {
  readonly #seenMs = new Map<string, number>();

  /** @param nowMs of the monotonic clock */
  take(pods: readonly KubernetesObject[], nowMs: number): void {
    for (const pod of pods)
      for (const name of meshNames(pod))
        this.#seenMs.set(`${pod.metadata.namespace ?? "default"}/${name}`, nowMs);
    for (const [key, seenMs] of this.#seenMs) if (nowMs - seenMs > KEPT_MS) this.#seenMs.delete(key);
  }

  has(namespace: string, workload: string): boolean {
    return this.#seenMs.has(`${namespace}/${workload}`);
  }
}
