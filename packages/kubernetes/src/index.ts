export { conditionsOf, hasCondition, withConditions } from "./conditions.ts";
export type { Condition } from "./conditions.ts";
export { isStoreError, STORE_ERROR_CODES, StoreError } from "./errors.ts";
export type { StoreErrorCode } from "./errors.ts";
export { createInformer } from "./informer.ts";
export type { Informer, InformerChange, InformerOptions } from "./informer.ts";
export { LABELS, matchesLabels, workflowOf } from "./labels.ts";
export { keyOf, timestamp } from "./objects.ts";
export { KINDS } from "./port.ts";
export type {
  ClusterStore,
  KindRef,
  KubernetesObject,
  ListOptions,
  ObjectList,
  ObjectMeta,
  ObjectRef,
  OwnerReference,
  WatchEvent,
} from "./port.ts";
export { amountOrNull, formatCpu, formatMemory, parseCpuMillicores, parseMemoryBytes } from "./quantities.ts";
export { isDnsLabel, isDnsSubdomain, isLabelValue, isNamespaced, isQualifiedName } from "./validation.ts";
export { nodeView, podView } from "./views.ts";
export type { NodeView, PodView } from "./views.ts";
export { workloadOf } from "./workloads.ts";
export type { ReplicaSetLookup, WorkloadRef } from "./workloads.ts";
