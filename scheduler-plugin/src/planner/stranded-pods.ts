// Pods whose planned node affinity no node can satisfy any more. They are deleted, and their replacements are
// released without a plan.
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
  readonly events: Pick<EventRecorder, "event"> | null;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: PlannerMetrics;
}

interface Stranded {
  readonly pod: KubernetesObject;
  readonly owner: string;
  dueMs: number;
}

interface CoolDown {
  /** No pod of the controller gets an affinity before; monotonic. */
  readonly untilMs: number;
  owed: number;
}

/** Other controllers, such as Job, count a deleted pod as failed. */
const REPLACING = new Set(["apps/v1 ReplicaSet", "apps/v1 StatefulSet", "v1 ReplicationController"]);
/** kube-scheduler retries a pod at once after a relevant change. */
const GRACE_MS = 5_000;
const RETRY_MS = 5_000;
/** How long pods of a controller get no affinity after one was replaced. */
const COOL_DOWN_MS = 600_000;

export class StrandedPods {
  readonly #options: StrandedPodsOptions;
  readonly #stranded = new Map<string, Stranded>();
  readonly #coolDowns = new Map<string, CoolDown>();

  constructor(options: StrandedPodsOptions) {
    this.#options = options;
  }

  /** True if the pod may get an affinity: its controller would replace it, and hasn't had to recently. */
  mayBind(pod: KubernetesObject): boolean {
    const owner = replacingOwnerOf(pod);
    return owner !== null && !this.#isCoolingDown(owner);
  }

  isReplacement(pod: KubernetesObject): boolean {
    const coolDown = this.#coolDowns.get(moveOwnerOf(pod)?.uid ?? "");
    if (coolDown === undefined || coolDown.owed === 0) return false;
    coolDown.owed--;
    return true;
  }

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

  /** Replaces pods whose retry time has passed. Never rejects. */
  async replaceDue(signal: AbortSignal): Promise<void> {
    const nowMs = this.#options.clock.monotonic();
    for (const [uid, { untilMs }] of this.#coolDowns) if (untilMs <= nowMs) this.#coolDowns.delete(uid);
    const due = [...this.#stranded.values()].filter(({ dueMs }) => dueMs <= nowMs);
    for (const each of due) {
      if (signal.aborted) return;
      each.dueMs = nowMs + RETRY_MS;
      await this.#replace(each);
    }
  }

  async #replace({ pod, owner }: Stranded): Promise<void> {
    const { store, events, clock, logger, metrics } = this.#options;
    const { namespace = "default", name, uid = "", annotations } = pod.metadata;
    // Set before the controller can create another one.
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

/** UID of a controller that replaces the pod harmlessly; null if none. */
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
    // Anybody may write the annotation. Gangs are never broken up.
    gangOf(pod) === null
  );
}

function verdictOn(pod: KubernetesObject): string {
  return conditionsOf(pod).find(({ type }) => type === "PodScheduled")?.message ?? "no node was found";
}
