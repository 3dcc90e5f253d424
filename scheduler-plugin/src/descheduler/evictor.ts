// Begins a move. Records the target first, so that even a fast replacement finds it. Then releases the pod
// (replacement starts first) or evicts it, if it is unchanged since the decision.
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
  /** null: the scheduler of the replacement chooses. */
  readonly to: string | null;
  readonly nowMs: number;
  readonly deadlineMs: number;
  readonly coolDownMs: number;
  /** Starts the replacement first. `before`: its controller's pods on the target; null: evict first. */
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

type EvictingStore = Pick<ClusterStore, "evict" | "get" | "jsonPatch">;

export class Evictor {
  readonly #store: EvictingStore;
  /** Latest time that a replacement may be due, by controller UID, wall-clock ms. */
  readonly #movingUntilMs = new Map<string, number>();

  constructor(store: EvictingStore) {
    this.#store = store;
  }

  isMoving(controllerUid: string, nowMs: number): boolean {
    for (const [uid, untilMs] of this.#movingUntilMs) if (untilMs < nowMs) this.#movingUntilMs.delete(uid);
    return this.#movingUntilMs.has(controllerUid);
  }

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

  /** Removes the record of a finished move. `last` sets another cool-down, counted from the newest move. */
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
      // Failed moves double the cool-down; a good one resets it.
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

  /** Throws StoreError `conflict` if the pod or its ReplicaSet has changed. */
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
        if (!isStoreError(error, "conflict") || attempt === RELEASE_ATTEMPTS) throw error;
      }
    }
  }

  /**
   * Withdraws the record of a move that didn't happen, and restores the cool-down of the move before. If that
   * fails, the record ends at its deadline.
   */
  async #withdraw(owner: ObjectRef, podUid: string, nowMs: number, before: LastMove): Promise<void> {
    await this.#change(owner, (object) => movesDonePatch(object, [podUid], nowMs, before)).catch(
      () => undefined,
    );
  }

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

/** Returns what differs from the decision's pod; null if nothing does. */
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
