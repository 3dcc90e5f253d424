// Stores the leader's memory in an annotation of the planner's Lease, which exists whenever anything can be
// moved.
import { isStoreError, KINDS, PLANNER_LEASE } from "@isochrone/kubernetes";
import type { ClusterStore, JsonPatchOperation, KubernetesObject } from "@isochrone/kubernetes";

/** Annotation of the planner's Lease: what the descheduler remembers from run to run, JSON. */
export const MEMORY_ANNOTATION = "isochrone.dev/descheduler-memory";

/** Annotation of the planner's Lease: people set it, to any value, to end a stop of the descheduler. */
export const RESUME_ANNOTATION = "isochrone.dev/descheduler-resume";

/** Text that outlives the leader. */
export interface MemoryKeeper {
  /** Returns null if none was written. Rejects if it can't be read. */
  read(): Promise<string | null>;
  /** Rejects if it can't be written or someone else has written since, which the next write overwrites. */
  write(text: string): Promise<void>;
  /** Returns whether someone asked to end the stop, and removes the request. Rejects if it can't be read. */
  takeResume(): Promise<boolean>;
}

const ATTEMPTS = 4;

export class MemoryAnnotation implements MemoryKeeper {
  readonly #store: ClusterStore;
  readonly #ref: { readonly apiVersion: string; readonly kind: string; namespace: string; name: string };
  #known: string | null = null;

  constructor(store: ClusterStore, namespace: string) {
    this.#store = store;
    this.#ref = { ...KINDS.lease, namespace, name: PLANNER_LEASE };
  }

  async read(): Promise<string | null> {
    this.#known = textOf(await this.#store.get(this.#ref));
    return this.#known;
  }

  /** Does nothing without the Lease: no planner works then. */
  async write(text: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const lease = await this.#store.get(this.#ref);
      if (lease === null) return;
      const found = textOf(lease);
      if (found !== null && found !== this.#known) {
        this.#known = found;
        throw new Error("another leader has written the descheduler's memory since it was read");
      }
      try {
        await this.#store.jsonPatch(this.#ref, writing(lease, text));
        this.#known = text;
        return;
      } catch (error) {
        if (!isStoreError(error, "conflict") || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async takeResume(): Promise<boolean> {
    const lease = await this.#store.get(this.#ref);
    if (lease?.metadata.annotations?.[RESUME_ANNOTATION] === undefined) return false;
    await this.#store.patch(this.#ref, { metadata: { annotations: { [RESUME_ANNOTATION]: null } } });
    return true;
  }
}

function textOf(lease: KubernetesObject | null): string | null {
  return lease?.metadata.annotations?.[MEMORY_ANNOTATION] ?? null;
}

/** Guards with the version that was read. */
function writing({ metadata }: KubernetesObject, text: string): JsonPatchOperation[] {
  const { uid, resourceVersion, annotations } = metadata;
  const path = `/metadata/annotations/${MEMORY_ANNOTATION.replace("/", "~1")}`;
  return [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
    ...(annotations === undefined ? [{ op: "add", path: "/metadata/annotations", value: {} } as const] : []),
    { op: "add", path, value: text },
  ];
}
