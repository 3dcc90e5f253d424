// Pods that will go soon. Plans treat the workflow as if they had gone.
import { keyOf, moveOwnerOf, MOVING_ANNOTATION } from "@isochrone/kubernetes";
import type { InformerChange, KubernetesObject, PodSpec } from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";

interface GoingPodsOptions {
  readonly isReplaced?: (pod: KubernetesObject) => boolean;
  readonly nowMs?: () => number;
}

interface NodeFacts {
  readonly name: string;
  readonly taints: readonly { readonly key: string; readonly effect: string }[];
  readonly noTarget: string | null;
}

/** A closed node counts as drained this long after a pod was deleted from it. */
const DRAINED_MS = 60_000;
const GONE_MS = 120_000;
const MAX_GONE = 20_000;
/** Owners of pods that stay on drained nodes: DaemonSets, and kubelets for static pods. */
const STAYING_OWNERS = ["DaemonSet", "Node"];

export class GoingPods {
  readonly #isReplaced: (pod: KubernetesObject) => boolean;
  readonly #nowMs: () => number;
  /** Keyed by node: last deletion of a pod that no workload replaces. */
  readonly #evictedMs = new Map<string, number>();
  readonly #goneMs = new Map<string, number>();

  constructor({ isReplaced = () => false, nowMs = () => 0 }: GoingPodsOptions) {
    this.#isReplaced = isReplaced;
    this.#nowMs = nowMs;
  }

  isGoing(pod: KubernetesObject, node: NodeFacts | undefined): boolean {
    const { deletionTimestamp, annotations } = pod.metadata;
    if (deletionTimestamp !== undefined || annotations?.[MOVING_ANNOTATION] !== undefined) return true;
    return this.#isReplaced(pod) || (node !== undefined && this.#isDriven(pod, node));
  }

  hasGone(podKey: string): boolean {
    return this.#goneMs.has(podKey);
  }

  take({ type, object: pod }: InformerChange): void {
    const key = keyOf(pod);
    const nowMs = this.#nowMs();
    this.#goneMs.delete(key);
    if (type === "deleted") this.#goneMs.set(key, nowMs);
    for (const [old, goneMs] of this.#goneMs) {
      if (this.#goneMs.size <= MAX_GONE && nowMs - goneMs < GONE_MS) break;
      this.#goneMs.delete(old);
    }
    const node = looseText(looseFields<PodSpec>(pod.spec).nodeName);
    const isEvicted = pod.metadata.deletionTimestamp !== undefined && mayBeDriven(pod);
    if (node !== "" && isEvicted && !this.#isReplaced(pod)) this.#evictedMs.set(node, nowMs);
  }

  #isDriven(pod: KubernetesObject, { name, taints, noTarget }: NodeFacts): boolean {
    if (noTarget === null && taints.length === 0) return false;
    if (!mayBeDriven(pod)) return false;
    if (taints.some(({ key, effect }) => effect === "NoExecute" && !stays(pod, key))) return true;
    const evictedMs = this.#evictedMs.get(name);
    return noTarget !== null && evictedMs !== undefined && this.#nowMs() - evictedMs < DRAINED_MS;
  }
}

function mayBeDriven(pod: KubernetesObject): boolean {
  return !STAYING_OWNERS.includes(moveOwnerOf(pod)?.kind ?? "");
}

function stays(pod: KubernetesObject, taint: string): boolean {
  return looseList<Record<"effect" | "key" | "tolerationSeconds", unknown>>(
    looseFields<PodSpec>(pod.spec).tolerations,
  ).some(
    ({ key, effect, tolerationSeconds }) =>
      (key === undefined || key === "" || key === taint) &&
      (effect === undefined || effect === "" || effect === "NoExecute") &&
      tolerationSeconds === undefined,
  );
}
