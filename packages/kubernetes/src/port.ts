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

export interface ListOptions {
  readonly namespace?: string;
  /** Equality only. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface ObjectList {
  readonly items: KubernetesObject[];
  readonly resourceVersion: string;
}

export interface ClusterStore {
  /** null when it doesn't exist. */
  get(ref: ObjectRef): Promise<KubernetesObject | null>;
  list(kind: KindRef, options?: ListOptions): Promise<ObjectList>;
  /** Throws StoreError `already_exists`. */
  create(object: KubernetesObject): Promise<KubernetesObject>;
  /** Replaces it. With metadata.resourceVersion set, throws StoreError `conflict` when it is not the stored one; `not_found` when absent. */
  update(object: KubernetesObject): Promise<KubernetesObject>;
  /** JSON merge patch (RFC 7396) of the whole object; null deletes a field. */
  patch(ref: ObjectRef, patch: Readonly<Record<string, unknown>>): Promise<KubernetesObject>;
  /** A pod with a grace period gets a deletionTimestamp first and goes when it is deleted again with 0, as the kubelet does. Deleting what is absent throws `not_found`. */
  delete(ref: ObjectRef, options?: { readonly gracePeriodSeconds?: number }): Promise<void>;
  /** The binding subresource: sets spec.nodeName once; throws `conflict` when the pod has a node. */
  bind(pod: { readonly namespace: string; readonly name: string }, nodeName: string): Promise<void>;
  /** Changes after `resourceVersion`, in order, until the signal. Throws StoreError `expired` when that version is no longer kept: list again. */
  watch(
    kind: KindRef,
    options: { readonly resourceVersion: string; readonly namespace?: string; readonly signal: AbortSignal },
  ): AsyncIterable<WatchEvent>;
}

/** The kinds in use. */
export const KINDS = {
  node: { apiVersion: "v1", kind: "Node" },
  pod: { apiVersion: "v1", kind: "Pod" },
  service: { apiVersion: "v1", kind: "Service" },
  deployment: { apiVersion: "apps/v1", kind: "Deployment" },
  replicaSet: { apiVersion: "apps/v1", kind: "ReplicaSet" },
  statefulSet: { apiVersion: "apps/v1", kind: "StatefulSet" },
  daemonSet: { apiVersion: "apps/v1", kind: "DaemonSet" },
  job: { apiVersion: "batch/v1", kind: "Job" },
  appGroup: { apiVersion: "appgroup.diktyo.x-k8s.io/v1alpha1", kind: "AppGroup" },
  networkTopology: { apiVersion: "networktopology.diktyo.x-k8s.io/v1alpha1", kind: "NetworkTopology" },
} as const satisfies Record<string, KindRef>;
