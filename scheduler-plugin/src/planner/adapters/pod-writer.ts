// The planner's writes to pods: nomination, node affinity and opening of the gate.
import {
  hasOurGate,
  isOnlyOurGate,
  isStoreError,
  jsonPatchOpeningGate,
  KINDS,
  openGate,
  PLANNED_AMONG_ANNOTATION,
  narrowedAffinity,
  preferringAffinity,
} from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type {
  ClusterStore,
  JsonPatchOperation,
  KubernetesObject,
  ObjectRef,
  PodStatus,
  LandingNode,
} from "@isochrone/kubernetes";
import { PLANNED_NODE_ANNOTATION } from "@isochrone/topology";
import type { Landing } from "../settings.ts";

/** Annotation of a pod that was admitted with its nodes: by which promise. */
export const PROMISE_ANNOTATION = "isochrone.dev/promise";

/** `nominated_by_other`: released to another's nomination. `absent`: no gate. `held`: by another gate. */
type LandingResult = "released" | "nominated_by_other" | "absent" | "held";

interface PodWriterOptions {
  readonly store: Pick<ClusterStore, "get" | "patch" | "jsonPatch">;
  readonly landing: Landing;
}

/** Users and controllers may write the pod in between. */
const MAX_ATTEMPTS = 4;

export class PodWriter {
  readonly #options: PodWriterOptions;
  readonly #own = new Map<string, string>();

  constructor(options: PodWriterOptions) {
    this.#options = options;
  }

  /**
   * Releases the pod to its planned node. With `among`, one request sets the node affinity and opens the
   * gate. Otherwise a nomination, which reserves the node, precedes it. Throws the store's errors; the next
   * call continues.
   * @param among the planned node first; empty: set no affinity
   */
  async land(
    pod: KubernetesObject,
    node: string,
    among: readonly LandingNode[] = [],
  ): Promise<LandingResult> {
    let current: KubernetesObject | null = pod;
    for (let attempt = 1; ; attempt++) {
      if (current === null || current.metadata.uid !== pod.metadata.uid || !hasOurGate(current))
        return "absent";
      if (!isOnlyOurGate(current)) return "held";
      if (this.#isTaken(current)) {
        await openGate(this.#options.store, current);
        return "nominated_by_other";
      }
      try {
        await this.#release(current, node, among);
        return "released";
      } catch (error) {
        if (!isOutdated(error) || attempt === MAX_ATTEMPTS) throw error;
      }
      current = await this.#options.store.get(refOf(pod));
    }
  }

  /** Opens our gate after withdrawing our nomination, if any. Throws the store's errors. */
  async release(pod: KubernetesObject): Promise<void> {
    const own = this.#own.get(pod.metadata.uid ?? "");
    if (own !== undefined) await this.takeBack(pod, own);
    await openGate(this.#options.store, pod);
  }

  async takeBack(pod: KubernetesObject, node: string): Promise<void> {
    const { store } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const current = await store.get(refOf(pod));
      if (current === null || current.metadata.uid !== pod.metadata.uid) break;
      if (looseFields<PodStatus>(current.status).nominatedNodeName !== node) break;
      try {
        await this.#nominate(current, null);
        break;
      } catch (error) {
        if (isStoreError(error, "not_found")) break;
        if (!isOutdated(error) || attempt === MAX_ATTEMPTS) throw error;
      }
    }
    this.forget(pod.metadata.uid ?? "");
  }

  forget(uid: string): void {
    this.#own.delete(uid);
  }

  async #release(pod: KubernetesObject, node: string, among: readonly LandingNode[]): Promise<void> {
    const { store, landing } = this.#options;
    const narrowed =
      landing === "required-affinity" && among.length > 0 ? narrowedAffinity(pod, among) : null;
    const affinity = landing === "preferred-affinity" ? preferringAffinity(pod, node) : narrowed;
    const isNominated = looseFields<PodStatus>(pod.status).nominatedNodeName === node;
    const next = affinity === null && !isNominated ? await this.#nominate(pod, node) : pod;
    const annotations = {
      [PLANNED_NODE_ANNOTATION]: node,
      ...(narrowed === null ? {} : { [PLANNED_AMONG_ANNOTATION]: among.map(({ name }) => name).join(",") }),
    };
    await store.jsonPatch(refOf(pod), [
      ...(jsonPatchOpeningGate(next) ?? []),
      ...annotated(next, annotations),
      ...(affinity === null ? [] : replacing(next, affinity)),
    ]);
  }

  /** Guarded by the pod's version: a concurrent nomination wins. */
  async #nominate(pod: KubernetesObject, node: string | null): Promise<KubernetesObject> {
    const { uid, resourceVersion } = pod.metadata;
    const written = await this.#options.store.patch(
      refOf(pod),
      { metadata: { uid, resourceVersion }, status: { nominatedNodeName: node } },
      { subresource: "status" },
    );
    if (uid !== undefined && node !== null) this.#own.set(uid, node);
    return written;
  }

  #isTaken({ metadata, status }: KubernetesObject): boolean {
    const nominated = looseFields<PodStatus>(status).nominatedNodeName;
    if (typeof nominated !== "string" || nominated === "") return false;
    return this.#own.get(metadata.uid ?? "") !== nominated;
  }
}

function refOf({ metadata: { namespace = "default", name } }: KubernetesObject): ObjectRef {
  return { ...KINDS.pod, namespace, name };
}

/** A shortened list shows as a missing path. */
function isOutdated(error: unknown): boolean {
  return isStoreError(error, "conflict") || isStoreError(error, "invalid");
}

function annotated(
  pod: KubernetesObject,
  annotations: Readonly<Record<string, string>>,
): JsonPatchOperation[] {
  const added = Object.entries(annotations).map(([name, value]): JsonPatchOperation => {
    return { op: "add", path: `/metadata/annotations/${name.replaceAll("/", "~1")}`, value };
  });
  if (pod.metadata.annotations !== undefined) return added;
  return [unchanged(pod), { op: "add", path: "/metadata/annotations", value: {} }, ...added];
}

function replacing(pod: KubernetesObject, affinity: object): JsonPatchOperation[] {
  return [unchanged(pod), { op: "add", path: "/spec/affinity", value: affinity }];
}

function unchanged({ metadata }: KubernetesObject): JsonPatchOperation {
  return { op: "test", path: "/metadata/resourceVersion", value: metadata.resourceVersion };
}
