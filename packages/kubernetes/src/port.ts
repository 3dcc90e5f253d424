// What Isochrone needs of a Kubernetes API server. Objects have their real shapes; reads are copies, never shared state.

export interface KindRef {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface ObjectRef extends KindRef {
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string;
  readonly name: string;
}

export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
}

export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  [field: string]: unknown;
}

export type WatchEvent =
  | { readonly type: "added" | "modified" | "deleted"; readonly object: KubernetesObject }
  /** Nothing changed; resuming from `resourceVersion` is safe. */
  | { readonly type: "bookmark"; readonly resourceVersion: string };

/**
 * Objects with these values only, as a field selector of the API server: a collector follows the pods of its node without being sent
 * all others. Only fields that never change once they are set, so that no object ever leaves the selection.
 */
export interface FieldSelector {
  readonly "metadata.name"?: string;
  /** Of pods. */
  readonly "spec.nodeName"?: string;
}

/** How much of every object is wanted. What is left out costs no memory, and little of the way. */
export interface Detail {
  /** Only apiVersion, kind and metadata are sent. @default false */
  readonly metadataOnly?: boolean;
  /** Called once for each object as it arrives, before anything keeps it: gives what is to be kept; managedFields are gone already. Name, namespace, uid and resourceVersion must stay. @default all */
  readonly trim?: (object: KubernetesObject) => KubernetesObject;
}

export interface ListOptions extends Detail {
  readonly namespace?: string;
  readonly fields?: FieldSelector;
  /** Equality only. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface ObjectList {
  readonly items: KubernetesObject[];
  readonly resourceVersion: string;
}

/** Hears what an informer goes through. Never throws. */
export interface InformerObserver {
  /** A full list has been taken in. */
  listed?(kind: string, list: { readonly items: number; readonly durationMs: number }): void;
  /** The list or watch failed and is tried again; `reason` is a StoreError's code, "other" for any other error. */
  restarted?(kind: string, reason: string): void;
  /** The server has said something: a list, a change, a bookmark. */
  heard?(kind: string): void;
}

/** What must still be so for a write to be done; else it is refused with StoreError `conflict`. */
export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** An operation of a JSON patch (RFC 6902); paths are JSON pointers. */
export type JsonPatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

export interface WriteOptions {
  /** Who writes, as managedFields names it. @default the store's own */
  readonly fieldManager?: string;
  /** Written through this subresource: of the object nothing else changes. */
  readonly subresource?: "status";
  /**
   * Of a JSON patch that is refused nobody asks why: `invalid` may also mean a failed `test`. For those who may not read the object, which is
   * how it would be found out. @default false
   */
  readonly isUnexplained?: boolean;
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Takes fields over that another manager owns. @default false */
  readonly force?: boolean;
  /** Everything but the writing: gives what would come of it. @default false */
  readonly dryRun?: boolean;
}

/**
 * What the services need of a cluster. Every method may also throw the StoreErrors of the way: `unavailable`, `too_many_requests` and
 * `timeout` (worth a retry), `unauthorized`, `forbidden` and `invalid` (not as it is).
 */
export interface ClusterStore {
  /** Hears of every informer over this store that has no observer of its own. */
  readonly informerObserver?: InformerObserver;
  /** null when it doesn't exist. */
  get(ref: ObjectRef): Promise<KubernetesObject | null>;
  list(kind: KindRef, options?: ListOptions): Promise<ObjectList>;
  /** Throws StoreError `already_exists`. */
  create(object: KubernetesObject): Promise<KubernetesObject>;
  /** Replaces it. With metadata.resourceVersion set, throws StoreError `conflict` when it is not the stored one; `not_found` when absent. */
  update(object: KubernetesObject, options?: WriteOptions): Promise<KubernetesObject>;
  /** JSON merge patch (RFC 7396) of the whole object; null deletes a field. */
  patch(
    ref: ObjectRef,
    patch: Readonly<Record<string, unknown>>,
    options?: WriteOptions,
  ): Promise<KubernetesObject>;
  /** JSON patch (RFC 6902), all or nothing. Throws `conflict` when a `test` fails, `invalid` when a path isn't there. */
  jsonPatch(
    ref: ObjectRef,
    operations: readonly JsonPatchOperation[],
    options?: WriteOptions,
  ): Promise<KubernetesObject>;
  /**
   * Server-side apply: creates the object, or makes these fields the manager's: fields that it applied before and leaves out now go. Throws
   * `conflict`, naming fields and managers, when another manager owns a field with another value, unless forced.
   */
  apply(object: KubernetesObject, options: ApplyOptions): Promise<KubernetesObject>;
  /** A pod with a grace period gets a deletionTimestamp first and goes when it is deleted again with 0, as the kubelet does. Deleting what is absent throws `not_found`. */
  delete(
    ref: ObjectRef,
    options?: { readonly gracePeriodSeconds?: number; readonly preconditions?: Preconditions },
  ): Promise<void>;
  /** The eviction subresource. Throws `too_many_requests` while a PodDisruptionBudget forbids it, `conflict` when a precondition fails. */
  evict(
    pod: { readonly namespace: string; readonly name: string },
    options?: { readonly preconditions?: Preconditions; readonly gracePeriodSeconds?: number },
  ): Promise<void>;
  /** The binding subresource: sets spec.nodeName once; throws `conflict` when the pod has a node. */
  bind(pod: { readonly namespace: string; readonly name: string }, nodeName: string): Promise<void>;
  /** Changes after `resourceVersion`, in order, until the signal. Throws StoreError `expired` when that version is no longer kept: list again. */
  watch(
    kind: KindRef,
    options: Detail & {
      readonly resourceVersion: string;
      readonly namespace?: string;
      readonly fields?: FieldSelector;
      readonly signal: AbortSignal;
    },
  ): AsyncIterable<WatchEvent>;
}

/** The kinds in use. */
export const KINDS = {
  node: { apiVersion: "v1", kind: "Node" },
  pod: { apiVersion: "v1", kind: "Pod" },
  service: { apiVersion: "v1", kind: "Service" },
  endpointSlice: { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
  deployment: { apiVersion: "apps/v1", kind: "Deployment" },
  replicaSet: { apiVersion: "apps/v1", kind: "ReplicaSet" },
  statefulSet: { apiVersion: "apps/v1", kind: "StatefulSet" },
  daemonSet: { apiVersion: "apps/v1", kind: "DaemonSet" },
  job: { apiVersion: "batch/v1", kind: "Job" },
  namespace: { apiVersion: "v1", kind: "Namespace" },
  persistentVolume: { apiVersion: "v1", kind: "PersistentVolume" },
  persistentVolumeClaim: { apiVersion: "v1", kind: "PersistentVolumeClaim" },
  csiNode: { apiVersion: "storage.k8s.io/v1", kind: "CSINode" },
  volumeAttachment: { apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment" },
  configMap: { apiVersion: "v1", kind: "ConfigMap" },
  secret: { apiVersion: "v1", kind: "Secret" },
  event: { apiVersion: "events.k8s.io/v1", kind: "Event" },
  podDisruptionBudget: { apiVersion: "policy/v1", kind: "PodDisruptionBudget" },
  customResourceDefinition: { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
  mutatingWebhookConfiguration: {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
  },
  clusterRole: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" },
  /** Answered, never stored: what is created comes back with its status. */
  tokenReview: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview" },
  subjectAccessReview: { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview" },
  /** Of whoever asks. */
  selfSubjectAccessReview: { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview" },
  lease: { apiVersion: "coordination.k8s.io/v1", kind: "Lease" },
  appGroup: { apiVersion: "appgroup.diktyo.x-k8s.io/v1alpha1", kind: "AppGroup" },
  destinationRule: { apiVersion: "networking.istio.io/v1", kind: "DestinationRule" },
  networkTopology: { apiVersion: "networktopology.diktyo.x-k8s.io/v1alpha1", kind: "NetworkTopology" },
} as const satisfies Record<string, KindRef>;
