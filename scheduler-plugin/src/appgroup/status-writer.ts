import { isStoreError } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject, ObjectRef } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import { FAULTS_ANNOTATION } from "./group-status.ts";

const FIELD_MANAGER = "isochrone-appgroup-status";

interface StatusChange {
  /** Null removes a field. */
  readonly status: Readonly<Record<string, unknown>>;
  readonly faultsText?: string | null;
}

/**
 * Writes AppGroup status with optimistic concurrency. Upstream's CRD has no status subresource, so the status
 * is written with the object. A cluster's CRD may have one; the API server then silently ignores the status,
 * and the answer shows which case holds.
 */
export class StatusWriter {
  readonly #store: ClusterStore;
  #hasSubresource = false;

  constructor(store: ClusterStore) {
    this.#store = store;
  }

  /** Returns the written object. Throws StoreError: `conflict` if it has changed meanwhile. */
  async write(group: KubernetesObject, change: StatusChange): Promise<KubernetesObject> {
    if (this.#hasSubresource) return await this.#writeApart(group, change);
    const written = await this.#patch(group, { ...annotations(change), ...statusOf(change) });
    if (holds(written, change.status)) return written;
    this.#hasSubresource = true;
    return await this.#writeApart(written, { status: change.status });
  }

  async #writeApart(group: KubernetesObject, change: StatusChange): Promise<KubernetesObject> {
    const { metadata } = annotations(change);
    const annotated = metadata === undefined ? group : await this.#patch(group, { metadata });
    if (Object.keys(change.status).length === 0) return annotated;
    try {
      return await this.#patch(annotated, statusOf(change), "status");
    } catch (error) {
      if (!isStoreError(error, "not_found")) throw error;
      // Either the object is gone, or the CRD was replaced by one without the subresource.
      this.#hasSubresource = false;
      return await this.#patch(annotated, statusOf(change));
    }
  }

  async #patch(
    group: KubernetesObject,
    { metadata, ...fields }: Readonly<Record<string, unknown>>,
    subresource?: "status",
  ): Promise<KubernetesObject> {
    const { uid, resourceVersion } = group.metadata;
    const patch = { ...fields, metadata: { ...looseFields(metadata), uid, resourceVersion } };
    return await this.#store.patch(referenceTo(group), patch, {
      fieldManager: FIELD_MANAGER,
      ...(subresource === undefined ? {} : { subresource }),
    });
  }
}

function statusOf({ status }: StatusChange): { status?: StatusChange["status"] } {
  return Object.keys(status).length === 0 ? {} : { status };
}

function annotations({ faultsText }: StatusChange): { metadata?: object } {
  return faultsText === undefined ? {} : { metadata: { annotations: { [FAULTS_ANNOTATION]: faultsText } } };
}

/** True if the API server stored the status, judged by its numbers and times. */
function holds({ status = {} }: KubernetesObject, wanted: StatusChange["status"]): boolean {
  return Object.entries(wanted).every(([field, value]) =>
    value === null || typeof value === "object"
      ? (status[field] === undefined) === (value === null)
      : status[field] === value,
  );
}

function referenceTo({ apiVersion, kind, metadata }: KubernetesObject): ObjectRef {
  const { namespace, name } = metadata;
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}
