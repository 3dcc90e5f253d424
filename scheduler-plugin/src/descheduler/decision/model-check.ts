import { keyOf } from "@isochrone/kubernetes";
import { replacementOf } from "@isochrone/placement";
import type { ClusterCheck, SchedulingModel } from "@isochrone/placement";
import type { Survey } from "./survey.ts";

/** Models the cluster as kube-scheduler's filters see it. A moving pod holds its old place until gone. */
export class ModelCheck implements ClusterCheck {
  readonly #model: SchedulingModel;
  readonly #pods: Survey["pods"];

  constructor({ model, pods }: Survey) {
    this.#model = model;
    this.#pods = pods;
  }

  verdict(...[{ uid }, node]: Parameters<ClusterCheck["verdict"]>): string | null {
    const { object } = this.#pods.get(uid)!;
    const putBack = this.#model.without([keyOf(object)]);
    try {
      const rejection = this.#model.verdict(replacementOf(object), node);
      return rejection === null ? null : `${rejection.plugin}: ${rejection.message}`;
    } finally {
      putBack();
    }
  }

  moved(...[{ uid }, node]: Parameters<ClusterCheck["moved"]>): void {
    const { object } = this.#pods.get(uid)!;
    const metadata = { ...object.metadata, name: `${object.metadata.name}.moved` };
    this.#model.place({ ...replacementOf(object), metadata }, node);
  }
}
