// Pods whose annotation names the node of their replacement: marked by hand and then evicted, or released
// until the replacement is ready. In memory only: a mark ends with its replacement.
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
  readonly controller: string;
  readonly record: MoveRecord;
  readonly isGoing: boolean;
  /** Monotonic; null while its pod exists. */
  readonly goneMs: number | null;
  isDone: boolean;
}

/** After its pod is gone. Controllers create replacements within milliseconds. */
const KEPT_MS = 120_000;

export class MarkedPods {
  readonly #options: MarkedPodsOptions;
  readonly #marks = new Map<string, Mark>();
  /** Index: every new pod is looked up, and a tenant may mark all its pods. */
  readonly #ofController = new Map<string, Set<Mark>>();

  constructor(options: MarkedPodsOptions) {
    this.#options = options;
  }

  take({ type, object }: InformerChange): void {
    const { uid = "" } = object.metadata;
    const before = this.#marks.get(uid);
    const record = recordOf(object);
    const controller = controllerOf(object);
    if (record === null || controller === null) return this.#drop(uid);
    const hasGone = type === "deleted" || isGone(object);
    // The mark of a pod already gone: known before, or too late.
    if (before === undefined && hasGone) return;
    // A released pod serves on while its replacement comes.
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

  /** True if a pod of the same controller is or may be moved: the new pod may come before that one goes. */
  isMoving(pod: KubernetesObject): boolean {
    return this.#openOf(pod).length > 0;
  }

  openFor(pod: KubernetesObject): MoveRecord[] {
    return this.#openOf(pod)
      .filter(({ isGoing }) => isGoing)
      .map(({ record }) => record);
  }

  /** The record was used, whether or not its node takes the replacement. */
  done({ podUid }: MoveRecord): void {
    const mark = this.#marks.get(podUid);
    if (mark !== undefined) mark.isDone = true;
  }

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
  return to === "" || from === "" ? null : { podUid: metadata.uid ?? "", from, to, deadlineMs: Infinity };
}

/** Includes the namespace: an owner reference may name any UID. */
function controllerOf(pod: KubernetesObject): string | null {
  const release = readRelease(pod);
  if (release !== null) return `${pod.metadata.namespace ?? "default"}/${release.replicaSet.uid}`;
  const owner = moveOwnerOf(pod);
  return owner === null ? null : `${owner.namespace}/${owner.uid}`;
}
