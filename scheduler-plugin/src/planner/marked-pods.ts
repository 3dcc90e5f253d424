// Pods whose annotations name the node of their replacement: marked by hand and evicted then, or released
// until their replacement is ready. Nothing is written: what is known of a mark ends with its replacement.
import { moveOwnerOf, MOVE_TO_ANNOTATION, readRelease } from "@isochrone/kubernetes";
import { looseFields, looseText } from "@isochrone/primitives";
import type { InformerChange, KubernetesObject, MoveRecord, PodSpec } from "@isochrone/kubernetes";
import type { Clock } from "@isochrone/runtime";
import { isGone } from "../adapters/observed-pod.ts";
import type { PlannerMetrics } from "./metrics.ts";

interface MarkedPodsOptions {
  readonly clock: Clock;
  readonly metrics: Pick<PlannerMetrics, "moves">;
}

interface Mark {
  /** namespace/uid */
  readonly controller: string;
  readonly record: MoveRecord;
  /** Its pod is evicted, so a replacement may come. */
  readonly isGoing: boolean;
  /** When its pod had gone, monotonic milliseconds; null: it is still there. */
  readonly goneMs: number | null;
  /** Its replacement was planned; its pod may still be shown. */
  isDone: boolean;
}

/** After its pod has gone. A controller makes a replacement within milliseconds. */
const KEPT_MS = 120_000;

export class MarkedPods {
  readonly #options: MarkedPodsOptions;
  /** By the pod's uid. */
  readonly #marks = new Map<string, Mark>();
  /** Each new pod asks, and anybody may mark all pods that he has. */
  readonly #ofController = new Map<string, Set<Mark>>();

  constructor(options: MarkedPodsOptions) {
    this.#options = options;
  }

  /** Looks at what the cluster shows of a pod. */
  take({ type, object }: InformerChange): void {
    const { uid = "" } = object.metadata;
    const before = this.#marks.get(uid);
    const record = recordOf(object);
    const controller = controllerOf(object);
    if (record === null || controller === null) return this.#drop(uid);
    const hasGone = type === "deleted" || isGone(object);
    // A mark on a pod that had gone before was known in time, or it is too late.
    if (before === undefined && hasGone) return;
    // The replacement of a released pod comes while the pod serves on.
    const isGoing = hasGone || readRelease(object) !== null;
    if (before?.isDone === true) {
      if (type === "deleted") this.#drop(uid);
      return;
    }
    this.#drop(uid);
    const goneMs = type === "deleted" ? this.#options.clock.monotonic() : null;
    const mark = { controller, record, isGoing, goneMs, isDone: false };
    this.#marks.set(uid, mark);
    const others = this.#ofController.get(controller);
    if (others === undefined) this.#ofController.set(controller, new Set([mark]));
    else others.add(mark);
  }

  /**
   * Whether a pod of the same controller is moved, or is about to be: the new pod may come before it is known
   * that the marked one goes.
   */
  isMoving(pod: KubernetesObject): boolean {
    return this.#openOf(pod).length > 0;
  }

  /** Targets for new pods of that pod's controller, each for one. */
  openFor(pod: KubernetesObject): MoveRecord[] {
    return this.#openOf(pod)
      .filter(({ isGoing }) => isGoing)
      .map(({ record }) => record);
  }

  /** A replacement was planned by the record, whether or not its node takes it. */
  done({ podUid }: MoveRecord): void {
    const mark = this.#marks.get(podUid);
    if (mark !== undefined) mark.isDone = true;
  }

  /** To be called now and then: marks end for which no replacement came. */
  expire(): void {
    const thenMs = this.#options.clock.monotonic() - KEPT_MS;
    for (const [uid, { goneMs, isDone }] of this.#marks) {
      if (goneMs === null || goneMs > thenMs) continue;
      this.#drop(uid);
      if (!isDone) this.#options.metrics.moves.inc({ outcome: "expired" });
    }
  }

  #openOf(pod: KubernetesObject): Mark[] {
    const marks = this.#ofController.get(controllerOf(pod) ?? "");
    return marks === undefined ? [] : [...marks].filter(({ isDone }) => !isDone);
  }

  #drop(uid: string): void {
    const mark = this.#marks.get(uid);
    if (mark === undefined) return;
    this.#marks.delete(uid);
    const marks = this.#ofController.get(mark.controller)!;
    marks.delete(mark);
    if (marks.size === 0) this.#ofController.delete(mark.controller);
  }
}

function recordOf(pod: KubernetesObject): MoveRecord | null {
  const { metadata, spec } = pod;
  const to = readRelease(pod)?.to ?? metadata.annotations?.[MOVE_TO_ANNOTATION] ?? "";
  const from = looseText(looseFields<PodSpec>(spec).nodeName);
  // Its own time is when it goes.
  return to === "" || from === "" ? null : { podUid: metadata.uid ?? "", from, to, deadlineMs: Infinity };
}

/** Of the pod's own namespace: an owner reference may name anybody's uid. */
function controllerOf(pod: KubernetesObject): string | null {
  const release = readRelease(pod);
  if (release !== null) return `${pod.metadata.namespace ?? "default"}/${release.replicaSet.uid}`;
  const owner = moveOwnerOf(pod);
  return owner === null ? null : `${owner.namespace}/${owner.uid}`;
}
