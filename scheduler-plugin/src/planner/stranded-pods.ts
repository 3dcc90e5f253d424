// Pods that were bound to a few nodes by plan, none of which takes them any more. Their controllers make
// others in their place, which are released without a plan.
import {
  conditionsOf,
  isStoreError,
  keyOf,
  moveOwnerOf,
  PLANNED_AMONG_ANNOTATION,
  StoreError,
} from "@isochrone/kubernetes";
import { gangOf } from "@isochrone/placement";
import { looseFields } from "@isochrone/primitives";
import type {
  ClusterStore,
  EventRecorder,
  InformerChange,
  KubernetesObject,
  PodSpec,
} from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import { isGone, isUnschedulable } from "../adapters/observed-pod.ts";
import type { PlannerMetrics } from "./metrics.ts";

interface StrandedPodsOptions {
  readonly store: Pick<ClusterStore, "evict">;
  /** null: no Events. */
  readonly events: Pick<EventRecorder, "event"> | null;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: PlannerMetrics;
}

interface Stranded {
  readonly pod: KubernetesObject;
  readonly owner: string;
  /** Before then it isn't replaced; monotonic milliseconds. */
  dueMs: number;
}

interface CoolDown {
  /** Until then no pod of the controller is bound to nodes; monotonic milliseconds. */
  readonly untilMs: number;
  /** Pods that it still makes in place of replaced ones. */
  owed: number;
}

/** To a Job a deleted pod is a failed one, and so it is to many controllers that aren't of Kubernetes. */
const REPLACING = new Set(["apps/v1 ReplicaSet", "apps/v1 StatefulSet", "v1 ReplicationController"]);
/** kube-scheduler tries a pod again at once when something in the cluster has changed for it. */
const GRACE_MS = 5_000;
/** Before it is tried again to replace a pod that the API server keeps. */
const RETRY_MS = 5_000;
/** For so long the pods of a controller aren't bound to nodes after one of them was replaced. */
const COOL_DOWN_MS = 600_000;

export class StrandedPods {
  readonly #options: StrandedPodsOptions;
  readonly #stranded = new Map<string, Stranded>();
  /** By the controller's uid. */
  readonly #coolDowns = new Map<string, CoolDown>();

  constructor(options: StrandedPodsOptions) {
    this.#options = options;
  }

  /** Whether the pod may be bound to nodes: its controller would replace it, and hasn't had to lately. */
  mayBind(pod: KubernetesObject): boolean {
    const owner = replacingOwnerOf(pod);
    return owner !== null && !this.#isCoolingDown(owner);
  }

  /** Whether the pod stands for one that was replaced; each of those is asked for once. */
  isReplacement(pod: KubernetesObject): boolean {
    const coolDown = this.#coolDowns.get(moveOwnerOf(pod)?.uid ?? "");
    if (coolDown === undefined || coolDown.owed === 0) return false;
    coolDown.owed--;
    return true;
  }

  /** Looks at what the cluster shows of a pod. */
  take({ type, object }: InformerChange): void {
    const key = keyOf(object);
    const before = this.#stranded.get(key);
    if (type === "deleted" || !isStranded(object)) {
      this.#stranded.delete(key);
      return;
    }
    const owner = replacingOwnerOf(object);
    if (owner === null) return;
    const isSame = before !== undefined && before.pod.metadata.uid === object.metadata.uid;
    const dueMs = isSame ? before.dueMs : this.#options.clock.monotonic() + GRACE_MS;
    this.#stranded.set(key, { pod: object, owner, dueMs });
  }

  /** Replaces those that have had time to be tried again. Never rejects. */
  async replaceDue(signal: AbortSignal): Promise<void> {
    const nowMs = this.#options.clock.monotonic();
    for (const [uid, { untilMs }] of this.#coolDowns) if (untilMs <= nowMs) this.#coolDowns.delete(uid);
    const due = [...this.#stranded.values()].filter(({ dueMs }) => dueMs <= nowMs);
    for (const each of due) {
      if (signal.aborted) return;
      // Whatever becomes of it: the next turn must not do it twice.
      each.dueMs = nowMs + RETRY_MS;
      await this.#replace(each);
    }
  }

  async #replace({ pod, owner }: Stranded): Promise<void> {
    const { store, events, clock, logger, metrics } = this.#options;
    const { namespace = "default", name, uid = "", annotations } = pod.metadata;
    // Before its controller can make another one.
    const owed = (this.#coolDowns.get(owner)?.owed ?? 0) + 1;
    this.#coolDowns.set(owner, { untilMs: clock.monotonic() + COOL_DOWN_MS, owed });
    try {
      await store.evict({ namespace, name }, { preconditions: { uid } });
      this.#stranded.delete(keyOf(pod));
      metrics.replaced.inc({ outcome: "replaced" });
      const nodes = annotations?.[PLANNED_AMONG_ANNOTATION] ?? "";
      logger.info("a pod is replaced: none of its planned nodes takes it any more", {
        pod: keyOf(pod),
        nodes,
      });
      events?.event(pod, {
        type: "Warning",
        reason: "ReplacedUnplanned",
        action: "Planning",
        note: `none of its planned nodes (${nodes}) takes it any more; its replacement is left to kube-scheduler: ${verdictOn(pod)}`,
      });
    } catch (error) {
      this.#coolDowns.get(owner)!.owed--;
      if (isStoreError(error, "not_found") || isStoreError(error, "conflict")) return;
      metrics.replaced.inc({ outcome: "failed" });
      metrics.writeFailures.inc({
        write: "replace",
        reason: error instanceof StoreError ? error.code : "other",
      });
      logger.warnOnce("planner:replace", "a pod that none of its planned nodes takes can't be replaced", {
        pod: keyOf(pod),
        error,
      });
    }
  }

  #isCoolingDown(uid: string): boolean {
    return (this.#coolDowns.get(uid)?.untilMs ?? -Infinity) > this.#options.clock.monotonic();
  }
}

/** Uid of the controller that would make another pod in its place, and take no harm; null: there is none. */
function replacingOwnerOf(pod: KubernetesObject): string | null {
  const owner = moveOwnerOf(pod);
  return owner !== null && REPLACING.has(`${owner.apiVersion} ${owner.kind}`) ? owner.uid : null;
}

function isStranded(pod: KubernetesObject): boolean {
  return (
    pod.metadata.annotations?.[PLANNED_AMONG_ANNOTATION] !== undefined &&
    looseFields<PodSpec>(pod.spec).nodeName === undefined &&
    !isGone(pod) &&
    isUnschedulable(pod) &&
    // Anybody may write the annotation; of a gang no single pod is taken away.
    gangOf(pod) === null
  );
}

function verdictOn(pod: KubernetesObject): string {
  return conditionsOf(pod).find(({ type }) => type === "PodScheduled")?.message ?? "no node was found";
}
