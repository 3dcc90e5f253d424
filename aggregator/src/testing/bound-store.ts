import type { ClusterStore } from "@isochrone/kubernetes";

/** The store as a plain object with bound methods, for spreading. */
export function boundStore(inner: ClusterStore): ClusterStore {
  return {
    get: (ref) => inner.get(ref),
    list: (kind, options) => inner.list(kind, options),
    create: (object) => inner.create(object),
    update: (object, options) => inner.update(object, options),
    patch: (ref, patch, options) => inner.patch(ref, patch, options),
    jsonPatch: (ref, operations, options) => inner.jsonPatch(ref, operations, options),
    apply: (object, options) => inner.apply(object, options),
    delete: (ref, options) => inner.delete(ref, options),
    evict: (pod, options) => inner.evict(pod, options),
    scale: (ref, replicas, options) => inner.scale(ref, replicas, options),
    bind: (pod, node) => inner.bind(pod, node),
    watch: (kind, options) => inner.watch(kind, options),
  };
}
