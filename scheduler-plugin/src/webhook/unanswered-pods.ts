import type { InformerChange, KubernetesObject } from "@isochrone/kubernetes";
import { isUnanswered } from "./unanswered.ts";
import type { CreatedPod } from "./unanswered.ts";
import type { GateRules } from "./gate-rules.ts";

interface UnansweredPodsOptions {
  readonly rules: GateRules;
  /** Wall clock. Earlier pods may have asked for the gate later, or another replica counted them. */
  readonly sinceMs: number;
  readonly surroundings: (pod: KubernetesObject) => Omit<CreatedPod, "pod">;
  readonly isRemoved: () => boolean;
  readonly onUnanswered: (pod: KubernetesObject) => void;
}

/** Counts new pods that the webhook should have answered, but didn't in time. */
export class UnansweredPods {
  readonly #options: UnansweredPodsOptions;

  constructor(options: UnansweredPodsOptions) {
    this.#options = options;
  }

  take({ type, object: pod }: InformerChange): void {
    const { rules, sinceMs, surroundings, isRemoved, onUnanswered } = this.#options;
    if (type !== "added" || isRemoved()) return;
    // Creation times are rounded down to whole seconds.
    if (Date.parse(pod.metadata.creationTimestamp ?? "") + 1000 <= sinceMs) return;
    if (isUnanswered({ pod, ...surroundings(pod) }, rules)) onUnanswered(pod);
  }
}
