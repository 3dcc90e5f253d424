// Objects have their real shapes; reads are copies.
import type { KindRef, KubernetesObject, ObjectOf, ObjectRef } from "../kinds.ts";

export type { KindRef, KubernetesObject, ObjectMeta, ObjectRef, OwnerReference } from "../kinds.ts";

export type WatchEvent<T = KubernetesObject> =
  | { readonly type: "added" | "modified" | "deleted"; readonly object: T }
  /** No change; resuming from `resourceVersion` is safe. */
  | { readonly type: "bookmark"; readonly resourceVersion: string };

/**
 * A field selector, for example for a collector's own node. Only immutable fields, so that no object leaves
 * the selection.
 */
export interface FieldSelector {
  readonly "metadata.name"?: string;
  readonly "spec.nodeName"?: string;
}

/** Reduces the received objects. Omitted parts cost no memory and little transfer. */
export interface Detail {
  /** Transfers only apiVersion, kind and metadata. @default false */
  readonly metadataOnly?: boolean;
  /**
   * Called per received object, without managedFields; returns what to keep. Must keep name, namespace, uid
   * and resourceVersion.
   * @default all
   */
  readonly trim?: (object: KubernetesObject) => KubernetesObject;
}

export interface ListOptions extends Detail {
  readonly namespace?: string;
  readonly fields?: FieldSelector;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface ObjectList<T = KubernetesObject> {
  readonly items: T[];
  readonly resourceVersion: string;
}

/** Observes an informer. Must not throw. */
export interface InformerObserver {
  listed?(kind: string, list: { readonly items: number; readonly durationMs: number }): void;
  /** The list or watch failed and is retried; `reason` is a StoreError's code, or "other". */
  restarted?(kind: string, reason: string): void;
  heard?(kind: string): void;
}

/** Required state for a write; otherwise StoreError `conflict`. */
export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export type JsonPatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

export interface WriteOptions {
  /** Field manager of the write. @default the store's own */
  readonly fieldManager?: string;
  /** Writes only this subresource of the object. */
  readonly subresource?: "status";
  /**
   * Doesn't read the object to explain a rejected JSON patch, so `invalid` may mean a failed `test`. For
   * callers without read rights.
   * @default false
   */
  readonly isUnexplained?: boolean;
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Takes over fields of other managers. @default false */
  readonly force?: boolean;
  /** Returns the result without writing. @default false */
  readonly dryRun?: boolean;
}

/**
 * A cluster store. Any method may throw `unavailable`, `too_many_requests` and `timeout` (retryable), or
 * `unauthorized`, `forbidden` and `invalid`.
 */
export interface ClusterStore {
  /** Observes informers without their own observer. */
  readonly informerObserver?: InformerObserver;
  get<R extends ObjectRef>(ref: R): Promise<ObjectOf<R> | null>;
  list<K extends KindRef>(kind: K, options?: ListOptions): Promise<ObjectList<ObjectOf<K>>>;
  /** Creates the object. Throws StoreError `already_exists`. */
  create<T extends KubernetesObject>(object: T): Promise<ObjectOf<T>>;
  /**
   * Replaces the object. Throws StoreError `conflict` if metadata.resourceVersion is set and outdated;
   * `not_found` if absent.
   */
  update<T extends KubernetesObject>(object: T, options?: WriteOptions): Promise<ObjectOf<T>>;
  /** JSON merge patch (RFC 7396); null deletes a field. */
  patch<R extends ObjectRef>(
    ref: R,
    patch: Readonly<Record<string, unknown>>,
    options?: WriteOptions,
  ): Promise<ObjectOf<R>>;
  /** JSON patch (RFC 6902), atomic. Throws `conflict` for a failed `test`, `invalid` for a missing path. */
  jsonPatch<R extends ObjectRef>(
    ref: R,
    operations: readonly JsonPatchOperation[],
    options?: WriteOptions,
  ): Promise<ObjectOf<R>>;
  /**
   * Server-side apply: creates the object or takes these fields; removes previously applied fields that are
   * omitted. Throws `conflict` naming fields and managers if another manager owns a different value, unless
   * forced.
   */
  apply<T extends KubernetesObject>(object: T, options: ApplyOptions): Promise<ObjectOf<T>>;
  /**
   * A pod with a grace period first gets a deletionTimestamp, and vanishes when deleted with 0, as by the
   * kubelet. Throws `not_found` if absent.
   */
  delete(
    ref: ObjectRef,
    options?: { readonly gracePeriodSeconds?: number; readonly preconditions?: Preconditions },
  ): Promise<void>;
  /**
   * Throws `too_many_requests` while a PodDisruptionBudget forbids it, `conflict` for a failed precondition.
   */
  evict(
    pod: { readonly namespace: string; readonly name: string },
    options?: { readonly preconditions?: Preconditions; readonly gracePeriodSeconds?: number },
  ): Promise<void>;
  /** Scales the object; needs no rights on it. Throws `conflict` if its replicas aren't `from`. */
  scale(
    ref: ObjectRef,
    replicas: { readonly from: number; readonly to: number },
    options?: Pick<WriteOptions, "fieldManager">,
  ): Promise<void>;
  /** Sets spec.nodeName once. Throws `conflict` if the pod has a node. */
  bind(pod: { readonly namespace: string; readonly name: string }, nodeName: string): Promise<void>;
  /**
   * Changes after `resourceVersion`, in order, until the signal. Throws StoreError `expired` if the version
   * is no longer kept: relist.
   */
  watch<K extends KindRef>(
    kind: K,
    options: Detail & {
      readonly resourceVersion: string;
      readonly namespace?: string;
      readonly fields?: FieldSelector;
      readonly signal: AbortSignal;
    },
  ): AsyncIterable<WatchEvent<ObjectOf<K>>>;
}

/** The store as adapters implement it, without types by kind. */
export type UntypedStore = {
  [M in keyof ClusterStore]: ClusterStore[M] extends (...args: infer A) => infer R
    ? (...args: A) => R
    : ClusterStore[M];
};
