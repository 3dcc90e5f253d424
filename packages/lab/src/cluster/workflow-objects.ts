import { isStoreError, KINDS, keyOf } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import type { Logger } from "@isochrone/runtime";
import { copyObjects } from "./manifest/check.ts";
import type { WorkflowManifest } from "./manifest/model.ts";

interface Options {
  readonly store: ClusterStore;
  readonly manifest: WorkflowManifest;
  readonly controlPlane?: "stand-in" | "real";
  readonly logger: Logger;
}

const FIELD_MANAGER = "isochrone-lab";
/** Says of an object in a real cluster that it is the lab's, and goes with it. */
const OWNED_LABEL = "lab.isochrone.dev/owned";

/**
 * Creates the workflow's objects. In a real cluster what an earlier run left behind is taken over, and its namespace made if need be.
 * Throws the store's errors; a Deployment of somebody else's with the same name is a `conflict`.
 */
export async function createObjects({ store, manifest, controlPlane }: Options): Promise<void> {
  const objects = copyObjects(manifest);
  if (controlPlane !== "real") {
    for (const object of objects) await store.create(object);
    return;
  }
  await createNamespace(store, manifest.namespace);
  for (const object of objects)
    await store.apply(owned(object), { fieldManager: FIELD_MANAGER, force: await isOurs(store, object) });
}

/** Removes them from a real cluster. What can't be removed is said, and left. */
export async function removeObjects({ store, manifest, controlPlane, logger }: Options): Promise<void> {
  if (controlPlane !== "real") return;
  for (const object of copyObjects(manifest).reverse())
    try {
      if (await isOurs(store, object)) await store.delete(refOf(object));
    } catch (error) {
      if (!isStoreError(error, "not_found"))
        logger.warn("an object of the workflow is left in the cluster", { object: keyOf(object), error });
    }
}

async function createNamespace(store: ClusterStore, name: string): Promise<void> {
  try {
    await store.create({ ...KINDS.namespace, metadata: { name } });
  } catch (error) {
    if (!isStoreError(error, "already_exists")) throw error;
  }
}

async function isOurs(store: ClusterStore, object: KubernetesObject): Promise<boolean> {
  const found = await store.get(refOf(object));
  return found?.metadata.labels?.[OWNED_LABEL] === "true";
}

function owned(object: KubernetesObject): KubernetesObject {
  const { metadata, ...rest } = object;
  const { name, namespace, annotations = {} } = metadata;
  const labels = { ...metadata.labels, [OWNED_LABEL]: "true" };
  return {
    ...rest,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), labels, annotations },
  };
}

function refOf({ apiVersion, kind, metadata: { name, namespace } }: KubernetesObject) {
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}
