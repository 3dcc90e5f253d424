// What the planner writes of pods: nominations, affinities, and that their gate is open.
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

/**
 * `released`: it is on its way. `nominated_by_other`: so it is, to a node that somebody else has chosen.
 * `absent`: there was nothing to release any more. `held`: others set a gate meanwhile, or it waits for them.
 */
type LandingResult = "released" | "nominated_by_other" | "absent" | "held";

interface PodWriterOptions {
  /** Refuses writes while another replica leads. */
  readonly store: Pick<ClusterStore, "get" | "patch" | "jsonPatch">;
  readonly landing: Landing;
}

/** Others may write the pod in between: kubelets don't, but users and controllers do. */
const MAX_ATTEMPTS = 4;

export class PodWriter {
  readonly #options: PodWriterOptions;
  /** Nominations that we have written, by the pod's uid. */
  readonly #own = new Map<string, string>();

  constructor(options: PodWriterOptions) {
    this.#options = options;
  }

  /**
   * Tells kube-scheduler of the node and opens our gate: by one request that binds the pod to the nodes
   * `among`, or by a nomination and the request after it, since a nomination reserves its node. Throws the
   * store's errors; the pod may be nominated then, and the next call goes on from there.
   * @param among the planned node first; empty: the pod must not be bound to nodes
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

  /**
   * Opens our gate and says nothing else; a nomination that we wrote is taken back first. Throws the store's
   * errors.
   */
  async release(pod: KubernetesObject): Promise<void> {
    const own = this.#own.get(pod.metadata.uid ?? "");
    if (own !== undefined) await this.takeBack(pod, own);
    await openGate(this.#options.store, pod);
  }

  /** Ends our nomination, if it is still the pod's. Throws the store's errors. */
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

  /** The pod is bound or gone. */
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

  /** With the pod's version: whoever nominates it in between wins. */
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

/** A list may have become shorter, which reads as a path that isn't there. */
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
