import type { InformerChange, KubernetesObject } from "@isochrone/kubernetes";
import { isUnanswered } from "./unanswered.ts";
import type { CreatedPod } from "./unanswered.ts";
import type { GateRules } from "./gate-rules.ts";

interface UnansweredPodsOptions {
  readonly rules: GateRules;
  /**
   * Pods created earlier may have asked for the gate only later, or another replica has counted them; wall
   * clock, milliseconds.
   */
  readonly sinceMs: number;
  /** What the pod belongs to, as it is known now. */
  readonly surroundings: (pod: KubernetesObject) => Omit<CreatedPod, "pod">;
  /** Whether the webhook was taken away on purpose. */
  readonly isRemoved: () => boolean;
  readonly onUnanswered: (pod: KubernetesObject) => void;
}

/** Finds the new pods that the webhook should have been asked about, and wasn't, or too late. */
export class UnansweredPods {
  readonly #options: UnansweredPodsOptions;

  constructor(options: UnansweredPodsOptions) {
    this.#options = options;
  }

  take({ type, object: pod }: InformerChange): void {
    const { rules, sinceMs, surroundings, isRemoved, onUnanswered } = this.#options;
    if (type !== "added" || isRemoved()) return;
    // A creation time has whole seconds, rounded down.
    if (Date.parse(pod.metadata.creationTimestamp ?? "") + 1000 <= sinceMs) return;
    if (isUnanswered({ pod, ...surroundings(pod) }, rules)) onUnanswered(pod);
  }
}
