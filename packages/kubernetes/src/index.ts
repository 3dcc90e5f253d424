export { KINDS } from "./port.ts";
export type { ClusterStore, KindRef, KubernetesObject, ListOptions, ObjectList, ObjectMeta, ObjectRef, OwnerReference, WatchEvent } from "./port.ts";
