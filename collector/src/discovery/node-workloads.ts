import { meshNames, type KubernetesObject } from "@isochrone/kubernetes";

/** Time after a pod's end for which a node proxy's rows about it are accepted. */
const KEPT_MS = 600_000;

export class NodeWorkloads {
  readonly #seenMs = new Map<string, number>();

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
