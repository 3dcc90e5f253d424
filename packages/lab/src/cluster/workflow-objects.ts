import { isStoreError, KINDS, keyOf, workloadOf } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { retry } from "@isochrone/runtime";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { copyObjects } from "./manifest/check.ts";
import type { WorkflowManifest } from "./manifest/model.ts";

interface Options {
  readonly store: ClusterStore;
  readonly manifest: WorkflowManifest;
  readonly controlPlane?: "stand-in" | "real";
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const FIELD_MANAGER = "isochrone-lab";
/** Marks objects in a real cluster as the lab's, to be removed with it. */
const OWNED_LABEL = "lab.isochrone.dev/owned";
const REMOVAL_RETRIES = { initialMs: 250, maxMs: 2_000, factor: 2, jitterRatio: 0.5, maxAttempts: 4 };

/**
 * Creates the workflow's objects. In a real cluster, adopts an earlier run's objects and creates the
 * namespace if needed. Throws the store's errors or the signal's reason after all requests settled. A foreign
 * Deployment of the same name is a `conflict`.
 */
export async function createObjects(
  { store, manifest, controlPlane }: Options,
  signal?: AbortSignal,
): Promise<void> {
  const objects = copyObjects(manifest);
  if (controlPlane !== "real") {
    for (const object of objects) await store.create(object);
    return;
  }
  await createNamespace(store, manifest.namespace);
  const results = await Promise.allSettled(
    objects.map(async (object) => {
      const force = await isOurs(store, object);
      signal?.throwIfAborted();
      await store.apply(owned(object), { fieldManager: FIELD_MANAGER, force });
    }),
  );
  const failed = results.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}

export async function removeObjects(options: Options): Promise<void> {
  const { store, manifest, controlPlane, clock, random, logger } = options;
  if (controlPlane !== "real") return;
  const remove = async (object: KubernetesObject): Promise<void> => {
    const run = async (): Promise<void> => {
      if (await isOurs(store, object)) await store.delete(refOf(object));
    };
    try {
      await retry({ clock, random, policy: REMOVAL_RETRIES, run });
    } catch (error) {
      if (!isStoreError(error, "not_found"))
        logger.warn("an object of the workflow is left in the cluster", { object: keyOf(object), error });
    }
  };
  await Promise.all(copyObjects(manifest).map(remove));
}

const POLL_MS = 25;
const PODS_GONE_WITHIN_MS = 10_000;

/** Waits briefly for deleted pods of a real cluster, which stay until their kubelet confirms. */
export async function untilPodsAreGone({
  clock,
  controlPlane,
  manifest,
  pods,
}: Pick<Options, "clock" | "controlPlane" | "manifest"> & {
  readonly pods: () => readonly KubernetesObject[];
}): Promise<void> {
  if (controlPlane !== "real") return;
  const untilMs = clock.monotonic() + PODS_GONE_WITHIN_MS;
  const names = new Set(manifest.workloads.map(({ name }) => name));
  const isOurs = (pod: KubernetesObject): boolean =>
    pod.metadata.ownerReferences !== undefined && names.has(workloadOf(pod).name);
  while (pods().some(isOurs) && clock.monotonic() < untilMs) await clock.sleep(POLL_MS);
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
