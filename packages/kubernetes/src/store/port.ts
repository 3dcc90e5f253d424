// What Isochrone needs of a Kubernetes API server. Objects have their real shapes; reads are copies, never
// shared state.
import type { KindRef, KubernetesObject, ObjectOf, ObjectRef } from "../kinds.ts";

export type { KindRef, KubernetesObject, ObjectMeta, ObjectRef, OwnerReference } from "../kinds.ts";

export type WatchEvent<T = KubernetesObject> =
  | { readonly type: "added" | "modified" | "deleted"; readonly object: T }
  /** Nothing changed; resuming from `resourceVersion` is safe. */
  | { readonly type: "bookmark"; readonly resourceVersion: string };

/**
 * Objects with these values only, as a field selector of the API server: a collector follows the pods of its
 * node without being sent all others. Only fields that never change once they are set, so that no object ever
 * leaves the selection.
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
  /**
   * Called once for each object as it arrives, before anything keeps it: gives what is to be kept;
   * managedFields are gone already. Name, namespace, uid and resourceVersion must stay.
   * @default all
   */
  readonly trim?: (object: KubernetesObject) => KubernetesObject;
}

export interface ListOptions extends Detail {
  readonly namespace?: string;
  readonly fields?: FieldSelector;
  /** Equality only. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface ObjectList<T = KubernetesObject> {
  readonly items: T[];
  readonly resourceVersion: string;
}

/** Hears what an informer goes through. Never throws. */
export interface InformerObserver {
  /** A full list has been taken in. */
  listed?(kind: string, list: { readonly items: number; readonly durationMs: number }): void;
  /**
   * The list or watch failed and is tried again; `reason` is a StoreError's code, "other" for any other
   * error.
   */
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
   * Of a JSON patch that is refused nobody asks why: `invalid` may also mean a failed `test`. For those who
   * may not read the object, which is how it would be found out. @default false
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
 * What the services need of a cluster. Every method may also throw the StoreErrors of the way: `unavailable`,
 * `too_many_requests` and `timeout` (worth a retry), `unauthorized`, `forbidden` and `invalid` (not as it
 * is).
 */
export interface ClusterStore {
  /** Hears of every informer over this store that has no observer of its own. */
  readonly informerObserver?: InformerObserver;
  /** null when it doesn't exist. */
  get<R extends ObjectRef>(ref: R): Promise<ObjectOf<R> | null>;
  list<K extends KindRef>(kind: K, options?: ListOptions): Promise<ObjectList<ObjectOf<K>>>;
  /** Throws StoreError `already_exists`. */
  create<T extends KubernetesObject>(object: T): Promise<ObjectOf<T>>;
  /**
   * Replaces it. With metadata.resourceVersion set, throws StoreError `conflict` when it is not the stored
   * one; `not_found` when absent.
   */
  update<T extends KubernetesObject>(object: T, options?: WriteOptions): Promise<ObjectOf<T>>;
  /** JSON merge patch (RFC 7396) of the whole object; null deletes a field. */
  patch<R extends ObjectRef>(
    ref: R,
    patch: Readonly<Record<string, unknown>>,
    options?: WriteOptions,
  ): Promise<ObjectOf<R>>;
  /**
   * JSON patch (RFC 6902), all or nothing. Throws `conflict` when a `test` fails, `invalid` when a path isn't
   * there.
   */
  jsonPatch<R extends ObjectRef>(
    ref: R,
    operations: readonly JsonPatchOperation[],
    options?: WriteOptions,
  ): Promise<ObjectOf<R>>;
  /**
   * Server-side apply: creates the object, or makes these fields the manager's: fields that it applied before
   * and leaves out now go. Throws `conflict`, naming fields and managers, when another manager owns a field
   * with another value, unless forced.
   */
  apply<T extends KubernetesObject>(object: T, options: ApplyOptions): Promise<ObjectOf<T>>;
  /**
   * A pod with a grace period gets a deletionTimestamp first and goes when it is deleted again with 0, as the
   * kubelet does. Deleting what is absent throws `not_found`.
   */
  delete(
    ref: ObjectRef,
    options?: { readonly gracePeriodSeconds?: number; readonly preconditions?: Preconditions },
  ): Promise<void>;
  /**
   * The eviction subresource. Throws `too_many_requests` while a PodDisruptionBudget forbids it, `conflict`
   * when a precondition fails.
   */
  evict(
    pod: { readonly namespace: string; readonly name: string },
    options?: { readonly preconditions?: Preconditions; readonly gracePeriodSeconds?: number },
  ): Promise<void>;
  /**
   * The scale subresource: sets the number of replicas. Throws `conflict` when it isn't `from` any more. Who
   * may do this needn't be allowed to read or write the object.
   */
  scale(
    ref: ObjectRef,
    replicas: { readonly from: number; readonly to: number },
    options?: Pick<WriteOptions, "fieldManager">,
  ): Promise<void>;
  /** The binding subresource: sets spec.nodeName once; throws `conflict` when the pod has a node. */
  bind(pod: { readonly namespace: string; readonly name: string }, nodeName: string): Promise<void>;
  /**
   * Changes after `resourceVersion`, in order, until the signal. Throws StoreError `expired` when that
   * version is no longer kept: list again.
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

/**
 * The same methods for objects of any kind, as adapters implement them: what a server answers is of the kind
 * that it was asked for.
 */
export type UntypedStore = {
  [M in keyof ClusterStore]: ClusterStore[M] extends (...args: infer A) => infer R
    ? (...args: A) => R
    : ClusterStore[M];
};
