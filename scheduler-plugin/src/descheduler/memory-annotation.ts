// Where the leader's memory is kept: an annotation of the planner's Lease, which is there whenever anything
// can be moved.
import { isStoreError, KINDS, PLANNER_LEASE } from "@isochrone/kubernetes";
import type { ClusterStore, JsonPatchOperation, KubernetesObject } from "@isochrone/kubernetes";

/** Annotation of the planner's Lease: what the descheduler remembers from run to run, JSON. */
export const MEMORY_ANNOTATION = "isochrone.dev/descheduler-memory";

/** Annotation of the planner's Lease: people set it, to any value, to end a stop of the descheduler. */
export const RESUME_ANNOTATION = "isochrone.dev/descheduler-resume";

/** Text that outlives the leader. */
export interface MemoryKeeper {
  /** null: nobody has written any. Rejects when it can't be read. */
  read(): Promise<string | null>;
  /**
   * Rejects when it can't be written, or when somebody else has written since: the next write then replaces
   * that.
   */
  write(text: string): Promise<void>;
  /** Whether somebody asks to end the stop; takes the request away. Rejects when it can't be read. */
  takeResume(): Promise<boolean>;
}

/** The heartbeat changes the Lease every few seconds. */
const ATTEMPTS = 4;

export class MemoryAnnotation implements MemoryKeeper {
  readonly #store: ClusterStore;
  readonly #ref: { readonly apiVersion: string; readonly kind: string; namespace: string; name: string };
  /** As it was read or written last. */
  #known: string | null = null;

  /** @param store refuses writes while another replica leads */
  constructor(store: ClusterStore, namespace: string) {
    this.#store = store;
    this.#ref = { ...KINDS.lease, namespace, name: PLANNER_LEASE };
  }

  async read(): Promise<string | null> {
    this.#known = textOf(await this.#store.get(this.#ref));
    return this.#known;
  }

  /** Without the Lease no planner works, and nothing is kept. */
  async write(text: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const lease = await this.#store.get(this.#ref);
      if (lease === null) return;
      const found = textOf(lease);
      // A Lease that was made anew has none.
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

/** Nothing but the object that was read is changed. */
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
