import { replacementOf } from "@isochrone/placement";
import type { ClusterCheck, MovablePod, SchedulingModel } from "@isochrone/placement";
import type { PodObject } from "./api-objects.ts";

/** Model of kube-scheduler's filters. A moving pod also holds its old place until it ends. */
export class ModelCheck implements ClusterCheck {
  readonly #model: SchedulingModel;
  readonly #pods: ReadonlyMap<string, PodObject>;

  /** @param pods keyed by uid */
  constructor(model: SchedulingModel, pods: ReadonlyMap<string, PodObject>) {
    this.#model = model;
    this.#pods = pods;
  }

  verdict({ uid }: MovablePod, node: string): string | null {
    const pod = this.#pods.get(uid)!;
    const putBack = this.#model.without([`${pod.metadata.namespace}/${pod.metadata.name}`]);
    try {
      return this.#model.verdict(replacementOf(pod), node)?.message ?? null;
    } finally {
      putBack();
    }
  }

  moved({ uid }: MovablePod, node: string): void {
    const pod = replacementOf(this.#pods.get(uid)!);
    this.#model.place({ ...pod, metadata: { ...pod.metadata, name: `${pod.metadata.name}.moved` } }, node);
  }
}
