// Writes an Event on each pod with its decision and the outcome.
import type { EventRecorder, KubernetesObject } from "@isochrone/kubernetes";
import type { Explanation } from "@isochrone/placement";
import { FairMap } from "../domain/fair-map.ts";

interface Announced {
  readonly namespace: string;
  readonly name: string;
  readonly best: string | null;
  readonly strategy: string;
  readonly sentence: string;
  readonly neutral: string;
}

/** Bound on decisions whose pods have no node yet. The namespace with the most loses its oldest first. */
const MAX_WAITING = 5_000;

/** Writes one Event per pod, when it gets its node; repeated scoring requests add none. */
export class DecisionEvents {
  readonly #recorder: EventRecorder;
  readonly #waiting = new FairMap<Announced>(MAX_WAITING, ({ namespace, name }) => ({
    namespace,
    owner: name,
  }));

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  decided(
    pod: { readonly namespace: string; readonly name: string },
    strategy: string,
    explanation: Explanation,
  ): void {
    const { namespace, name } = pod;
    this.#waiting.set(`${namespace}/${name}`, {
      namespace,
      name,
      best: explanation.best,
      strategy,
      sentence: explanation.sentences[0] ?? "",
      neutral: explanation.neutral.map(({ part, reason }) => `${part} took no side: ${reason}`).join("; "),
    });
  }

  bound(pod: KubernetesObject, node: string): void {
    const key = `${pod.metadata.namespace ?? "default"}/${pod.metadata.name}`;
    const decision = this.#waiting.get(key);
    if (decision === undefined) return;
    this.#waiting.delete(key);
    const { best, strategy, sentence, neutral } = decision;
    const followed = best === null || best === node;
    const outcome = followed
      ? `on ${node}, scored by ${strategy}`
      : `on ${node} by kube-scheduler's own plugins; ${strategy} would have chosen ${best}`;
    this.#recorder.event(pod, {
      type: "Normal",
      reason: followed ? "NetworkAwarePlacement" : "NetworkAwarePlacementOverruled",
      action: "Scoring",
      note: [outcome, sentence, neutral].filter((part) => part !== "").join(". "),
    });
  }
}
