import { KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, ObjectRef } from "@isochrone/kubernetes";
import type { Logger, Random } from "@isochrone/runtime";
import { MutatingAdmission } from "../admission.ts";

interface Surroundings {
  readonly random: Random;
  readonly logger: Logger;
}

/** A store that passes writes of EndpointSlices through the registered webhooks, like an API server. */
export function admittingSlices(store: ClusterStore, around: Surroundings): ClusterStore {
  const admission = new MutatingAdmission({ store, ...around });
  const isSlice = ({ kind }: Pick<ObjectRef, "kind">): boolean => kind === KINDS.endpointSlice.kind;
  return {
    get: (ref) => store.get(ref),
    list: (kind, options) => store.list(kind, options),
    watch: (kind, options) => store.watch(kind, options),
    create: async (object) => store.create(isSlice(object) ? await admission.admit(object) : object),
    update: async (object, options) =>
      store.update(isSlice(object) ? await admission.admit(object, object) : object, options),
    patch: async (ref, patch, options) => {
      const written = await store.patch(ref, patch, options);
      if (!isSlice(ref)) return written;
      const operations = await admission.patchOf(written, written);
      return operations.length === 0 ? written : await store.jsonPatch(ref, operations);
    },
    jsonPatch: (ref, operations, options) => store.jsonPatch(ref, operations, options),
    apply: (object, options) => store.apply(object, options),
    delete: (ref, options) => store.delete(ref, options),
    evict: (pod, options) => store.evict(pod, options),
    bind: (pod, nodeName) => store.bind(pod, nodeName),
    scale: (ref, replicas, options) => store.scale(ref, replicas, options),
  };
}
