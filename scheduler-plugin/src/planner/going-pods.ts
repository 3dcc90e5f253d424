// Pods that will go soon: plans are made for the workflow as it will be without them.
import { keyOf, moveOwnerOf, MOVING_ANNOTATION } from "@isochrone/kubernetes";
import type { InformerChange, KubernetesObject, PodSpec } from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";

interface GoingPodsOptions {
  /** Whether its workload is replacing the pod. @default none is replaced */
  readonly isReplaced?: (pod: KubernetesObject) => boolean;
  /** Monotonic milliseconds. @default time stands still */
  readonly nowMs?: () => number;
}

/** What is known of a node. */
interface NodeFacts {
  readonly name: string;
  readonly taints: readonly { readonly key: string; readonly effect: string }[];
  /** Why no plan puts pods there; null: plans do. */
  readonly noTarget: string | null;
}

/** A node that takes no pods counts as drained so long after a pod was deleted from it. */
const DRAINED_MS = 60_000;
/** Graphs show pods so long after these were deleted, at most. */
const GONE_MS = 120_000;
const MAX_GONE = 20_000;
/** Controllers of pods that stay on drained nodes: DaemonSets, and kubelets of static pods. */
const STAYING_OWNERS = ["DaemonSet", "Node"];

export class GoingPods {
  readonly #isReplaced: (pod: KubernetesObject) => boolean;
  readonly #nowMs: () => number;
  /** When a pod that no workload replaces was last being deleted on each node, by the node's name. */
  readonly #evictedMs = new Map<string, number>();
  /** When pods were deleted, by key, the first first. */
  readonly #goneMs = new Map<string, number>();

  constructor({ isReplaced = () => false, nowMs = () => 0 }: GoingPodsOptions) {
    this.#isReplaced = isReplaced;
    this.#nowMs = nowMs;
  }

  /** @param node that the pod is bound to; undefined: none, or none that is known */
  isGoing(pod: KubernetesObject, node: NodeFacts | undefined): boolean {
    const { deletionTimestamp, annotations } = pod.metadata;
    if (deletionTimestamp !== undefined || annotations?.[MOVING_ANNOTATION] !== undefined) return true;
    return this.#isReplaced(pod) || (node !== undefined && this.#isDriven(pod, node));
  }

  /** Whether the pod was deleted lately, and no other one has its name. @param podKey namespace/name */
  hasGone(podKey: string): boolean {
    return this.#goneMs.has(podKey);
  }

  /** Looks at what the cluster shows of a pod. */
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

  /** Whether the node is drained, or evicts the pod by a taint. */
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

/** Whether the pod tolerates the taint for ever. */
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
