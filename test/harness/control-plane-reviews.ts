// Lets services run on few objects in memory with a real API server's token reviews.
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { systemClock } from "@isochrone/runtime";

const REVIEWS: ReadonlySet<string> = new Set(["TokenReview", "SubjectAccessReview"]);

export function storeWithReviewsOf(judge: ClusterStore): ClusterStore {
  const memory = createMemoryStore({ clock: systemClock });
  const create = (object: KubernetesObject): Promise<KubernetesObject> =>
    (REVIEWS.has(object.kind) ? judge : memory).create(object);
  return new Proxy(memory, {
    get(target, name) {
      if (name === "create") return create;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
