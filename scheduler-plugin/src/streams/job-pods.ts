import { gatesOf, isStoreError, jsonPatchOpeningGate, KINDS, STREAM_GATE } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { ClusterStore, KubernetesObject, PodSpec, PodStatus } from "@isochrone/kubernetes";
import type { InformerChange } from "@isochrone/kubernetes";
import { STREAM_JOB_LABEL } from "./task-pod.ts";

function ownerUidOf({ metadata }: KubernetesObject): string | null {
  if (metadata.labels?.[STREAM_JOB_LABEL] === undefined) return null;
  return metadata.ownerReferences?.find(({ kind }) => kind === KINDS.streamJob.kind)?.uid ?? null;
}

export class JobPods {
  readonly #byJob = new Map<string, Map<string, KubernetesObject>>();

  take({ type, object }: InformerChange): boolean {
    const uid = ownerUidOf(object);
    if (uid === null) return false;
    const pods = this.#byJob.get(uid) ?? new Map<string, KubernetesObject>();
    if (type === "deleted") pods.delete(object.metadata.name);
    else pods.set(object.metadata.name, object);
    if (pods.size === 0) this.#byJob.delete(uid);
    else this.#byJob.set(uid, pods);
    return true;
  }

  of(uid: string): ReadonlyMap<string, KubernetesObject> {
    return this.#byJob.get(uid) ?? NONE;
  }

  *orphans(uids: ReadonlySet<string>): Generator<KubernetesObject> {
    for (const [uid, pods] of this.#byJob)
      if (!uids.has(uid))
        for (const pod of pods.values()) if (pod.metadata.deletionTimestamp === undefined) yield pod;
  }
}

const NONE: ReadonlyMap<string, KubernetesObject> = new Map();

export function hasStreamGate(pod: KubernetesObject): boolean {
  return gatesOf(pod).includes(STREAM_GATE);
}

export function isRunning(pod: KubernetesObject): boolean {
  return (
    looseFields<PodStatus>(pod.status).phase === "Running" && pod.metadata.deletionTimestamp === undefined
  );
}

/** `node`: the node's IP address, which a host-network pod has from the start. */
export function podAddress(pod: KubernetesObject, node: string | null): string | null {
  const { podIP } = looseFields<PodStatus>(pod.status);
  if (typeof podIP === "string" && podIP !== "") return podIP;
  return looseFields<PodSpec>(pod.spec).hostNetwork === true ? node : null;
}

/** Writes pods while this replica leads. Throws the store's errors. */
export class JobPodWriter {
  readonly #store: ClusterStore;

  constructor(store: ClusterStore) {
    this.#store = store;
  }

  async create(pod: KubernetesObject): Promise<void> {
    try {
      await this.#store.create(pod);
    } catch (error) {
      // This or an earlier leader created it; the watch will show it.
      if (!isStoreError(error, "already_exists")) throw error;
    }
  }

  /** Deletes this pod, not a successor of the same name. */
  async delete({ metadata }: KubernetesObject): Promise<void> {
    const { namespace = "default", name, uid } = metadata;
    try {
      await this.#store.delete(
        { ...KINDS.pod, namespace, name },
        uid === undefined ? {} : { preconditions: { uid } },
      );
    } catch (error) {
      if (!isStoreError(error, "not_found") && !isStoreError(error, "conflict")) throw error;
    }
  }

  /** Keeps others' gates. If they changed meanwhile, the next attempt has the new list. */
  async openGate(pod: KubernetesObject): Promise<void> {
    const operations = jsonPatchOpeningGate(pod, [STREAM_GATE]);
    if (operations === null) return;
    const { namespace = "default", name } = pod.metadata;
    try {
      await this.#store.jsonPatch({ ...KINDS.pod, namespace, name }, operations, { isUnexplained: true });
    } catch (error) {
      const isOutdated = ["not_found", "conflict", "invalid"] as const;
      if (!isOutdated.some((code) => isStoreError(error, code))) throw error;
    }
  }
}
