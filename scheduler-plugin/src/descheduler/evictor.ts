// Begins a move: the target is written down first, so that the replacement finds it however fast it comes.
// Then the pod is released, so that its replacement starts first, or evicted; only if it is still the one
// that was decided about.
import {
  hasCondition,
  isStoreError,
  KINDS,
  moveOwnerOf,
  moveRecordPatch,
  movesDonePatch,
  readLastMove,
  releasePatch,
  StoreError,
} from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { ClusterStore, KubernetesObject, LastMove, ObjectRef, PodSpec } from "@isochrone/kubernetes";
import type { FailureReason } from "./decision/metrics.ts";

interface WantedMove {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly from: string;
  /** null: whoever schedules the replacement is left to choose. */
  readonly to: string | null;
  /** Wall clock, milliseconds. */
  readonly nowMs: number;
  readonly deadlineMs: number;
  readonly coolDownMs: number;
  /**
   * The replacement starts before the pod is evicted. `before`: pods of its controller that are on the target
   * already. null: the pod is evicted first.
   */
  readonly release: { readonly before: number } | null;
}

type BeginResult =
  | {
      readonly begun: true;
      readonly owner: ObjectRef & { readonly uid: string };
      readonly coolDownMs: number;
    }
  | { readonly begun: false; readonly reason: FailureReason; readonly detail: string };

/** The controller changes with each of its pods. */
const RECORD_ATTEMPTS = 3;
const RELEASE_ATTEMPTS = 3;

/** As much of a store as moves take. */
type EvictingStore = Pick<ClusterStore, "evict" | "get" | "jsonPatch">;

export class Evictor {
  readonly #store: EvictingStore;
  /** Until when a replacement may be due, by the controller's uid; wall clock, milliseconds. */
  readonly #movingUntilMs = new Map<string, number>();

  constructor(store: EvictingStore) {
    this.#store = store;
  }

  /** Whether a pod of that controller is being moved. */
  isMoving(controllerUid: string, nowMs: number): boolean {
    for (const [uid, untilMs] of this.#movingUntilMs) if (untilMs < nowMs) this.#movingUntilMs.delete(uid);
    return this.#movingUntilMs.has(controllerUid);
  }

  /** The clock was set by so much. */
  shift(stepMs: number): void {
    for (const [uid, untilMs] of this.#movingUntilMs) this.#movingUntilMs.set(uid, untilMs + stepMs);
  }

  async begin(move: WantedMove): Promise<BeginResult> {
    try {
      return await this.#begin(move);
    } catch (error) {
      return failed(reasonOf(error), error);
    }
  }

  /**
   * The move is over: its record goes. With `last`, the cool-down is another one from now on; it counts from
   * the newest move all the same.
   */
  async done(
    owner: ObjectRef & { readonly uid?: string },
    podUid: string,
    nowMs: number,
    last: LastMove | null,
  ): Promise<void> {
    if (owner.uid !== undefined) this.#movingUntilMs.delete(owner.uid);
    await this.#change(owner, (object) => {
      const atMs = Math.max(last?.atMs ?? 0, readLastMove(object)?.atMs ?? 0);
      return movesDonePatch(object, [podUid], nowMs, last === null ? null : { ...last, atMs });
    });
  }

  async #begin(move: WantedMove): Promise<BeginResult> {
    const { namespace, pod: name, uid, from, to, nowMs, deadlineMs } = move;
    const pod = await this.#store.get({ ...KINDS.pod, namespace, name });
    const changed = pod === null ? "it has gone" : changeOf(pod, move);
    if (pod === null || changed !== null) return { begun: false, reason: "changed", detail: changed ?? "" };
    const owner = moveOwnerOf(pod);
    if (owner === null) return { begun: false, reason: "changed", detail: "it has no controller" };
    if (to !== null) this.#movingUntilMs.set(owner.uid, deadlineMs);
    let coolDownMs = move.coolDownMs;
    let before: LastMove | null = null;
    const found = await this.#change(owner, (object) => {
      before = readLastMove(object);
      // Doubled by moves in vain; a good one sets it back.
      coolDownMs = Math.max(move.coolDownMs, before?.coolDownMs ?? 0);
      const last = { atMs: nowMs, coolDownMs };
      return to === null
        ? movesDonePatch(object, [], nowMs, last)
        : moveRecordPatch(object, { podUid: uid, from, to, deadlineMs }, last, nowMs);
    }).catch((error: unknown) => failed("record", error));
    if (typeof found !== "boolean") return found;
    if (!found) return { begun: false, reason: "changed", detail: "its controller has gone" };
    try {
      await (to === null || move.release === null ? this.#evict(pod) : this.#release(owner, move, to));
    } catch (error) {
      await this.#withdraw(owner, uid, nowMs, before ?? { atMs: 0, coolDownMs });
      throw error;
    }
    return { begun: true, owner, coolDownMs };
  }

  async #evict({ metadata }: KubernetesObject): Promise<void> {
    const { namespace = "default", name, uid, resourceVersion } = metadata;
    const preconditions = {
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    await this.#store.evict({ namespace, name }, { preconditions });
  }

  /** Throws StoreError `conflict` if the pod or its ReplicaSet isn't what it was. */
  async #release(owner: ObjectRef & { readonly uid: string }, move: WantedMove, to: string): Promise<void> {
    const ref = { ...KINDS.pod, namespace: move.namespace, name: move.pod };
    const before = move.release?.before ?? 0;
    for (let attempt = 1; ; attempt++) {
      const { uid, ...where } = owner;
      const [pod, replicaSet] = [await this.#store.get(ref), await this.#store.get(where)];
      const isSame = pod !== null && changeOf(pod, move) === null && replicaSet?.metadata.uid === uid;
      const { deadlineMs } = move;
      const patch = isSame ? releasePatch(pod, replicaSet, { to, before, deadlineMs }) : null;
      if (patch === null) throw new StoreError("conflict", `pod ${move.namespace}/${move.pod} has changed`);
      try {
        await this.#store.jsonPatch(ref, patch);
        return;
      } catch (error) {
        // The kubelet writes the pod's status at any time.
        if (!isStoreError(error, "conflict") || attempt === RELEASE_ATTEMPTS) throw error;
      }
    }
  }

  /**
   * Nothing was moved: the record must send nobody anywhere, and the rest after the move before goes on. What
   * can't be withdrawn ends by its deadline.
   */
  async #withdraw(owner: ObjectRef, podUid: string, nowMs: number, before: LastMove): Promise<void> {
    await this.#change(owner, (object) => movesDonePatch(object, [podUid], nowMs, before)).catch(
      () => undefined,
    );
  }

  /** @returns whether it is there */
  async #change(
    ref: ObjectRef & { readonly uid?: string },
    patch: (owner: KubernetesObject) => Parameters<ClusterStore["jsonPatch"]>[1],
  ): Promise<boolean> {
    const { uid, ...where } = ref;
    for (let attempt = 1; ; attempt++) {
      const owner = await this.#store.get(where);
      if (owner === null || (uid !== undefined && owner.metadata.uid !== uid)) return false;
      try {
        await this.#store.jsonPatch(where, patch(owner));
        return true;
      } catch (error) {
        if (isStoreError(error, "not_found")) return false;
        if (!isStoreError(error, "conflict") || attempt === RECORD_ATTEMPTS) throw error;
      }
    }
  }
}

/** What is different from what was decided about; null when nothing is. */
function changeOf(pod: KubernetesObject, { uid, from }: WantedMove): string | null {
  if (pod.metadata.uid !== uid) return "another pod has its name";
  if (pod.metadata.deletionTimestamp !== undefined) return "it is being deleted";
  if (looseFields<PodSpec>(pod.spec).nodeName !== from) return `it isn't on ${from}`;
  return hasCondition(pod, "Ready") ? null : "it isn't ready any more";
}

function reasonOf(error: unknown): FailureReason {
  if (isStoreError(error, "too_many_requests")) return "pdb";
  if (isStoreError(error, "conflict") || isStoreError(error, "not_found")) return "changed";
  return isStoreError(error, "forbidden") || isStoreError(error, "invalid") ? "refused" : "other";
}

function failed(reason: FailureReason, error: unknown): BeginResult & { readonly begun: false } {
  return { begun: false, reason, detail: reasonOf(error) };
}
