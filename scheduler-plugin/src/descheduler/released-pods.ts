// Finishes moves that start the replacement first. Progress is read from the cluster alone, so a new leader
// continues where the previous one ended.
import {
  hasCondition,
  isStoreError,
  KINDS,
  movesDonePatch,
  readRelease,
  restorePatch,
} from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import type { Logger } from "@isochrone/runtime";
import { writeCost } from "../deletion-costs/own-costs.ts";
import type { DeschedulerMetrics } from "./decision/metrics.ts";
import type { DeschedulerConfig } from "./decision/settings.ts";
import { isFinished, livePodsOf, nodeOfPod } from "./controller-pods.ts";
import { resumedMove, type ReleasedPod } from "./resumed-move.ts";
import type { StartedMoves } from "./started-moves.ts";

/**
 * `evict`: the pod isn't needed any more. `restore`: its ReplicaSet adopts it again and deletes one pod,
 * preferably `surplus`; null: the ReplicaSet chooses.
 */
type Step =
  | { readonly kind: "wait" }
  | { readonly kind: "evict"; readonly isMoved: boolean }
  | { readonly kind: "restore"; readonly surplus: KubernetesObject | null };

interface ReleasedPodsOptions {
  readonly config: Pick<DeschedulerConfig, "coolDownMs" | "mode">;
  readonly store: Pick<ClusterStore, "evict" | "get" | "jsonPatch" | "patch">;
  readonly moves: Pick<StartedMoves, "arrived" | "begin" | "has" | "restored">;
  readonly metrics: Pick<DeschedulerMetrics, "evictions">;
  readonly logger: Logger;
}

interface StepLists {
  readonly pods: readonly KubernetesObject[];
  readonly replicaSets: readonly KubernetesObject[];
}

/** Lower than any other pod that is as ready, so deleted first. */
const SURPLUS_COST = -100;

export function releasedPods(pods: readonly KubernetesObject[]): ReleasedPod[] {
  return pods.flatMap((pod) => {
    const release = pod.metadata.deletionTimestamp === undefined ? readRelease(pod) : null;
    return release === null ? [] : [{ pod, release }];
  });
}

function nextStep({ pod, release }: ReleasedPod, lists: StepLists, nowMs: number): Step {
  const { replicaSet, to, before, deadlineMs } = release;
  const owner = lists.replicaSets.find(({ metadata }) => metadata.uid === replicaSet.uid);
  if (owner === undefined || isFinished(pod)) return { kind: "evict", isMoved: false };
  const pods = livePodsOf(replicaSet.uid, lists.pods);
  const ready = pods.filter((each) => hasCondition(each, "Ready"));
  const wanted = replicasOf(owner);
  // After a scale-down the newest pod needn't be the replacement.
  const surplus = wanted < release.replicas ? null : newestOf(pods);
  if (nowMs > deadlineMs) return { kind: "restore", surplus };
  const isOnTarget = (among: readonly KubernetesObject[]): boolean =>
    among.filter((each) => nodeOfPod(each) === to).length > before;
  if (wanted > 0 && ready.length >= wanted && isOnTarget(ready)) return { kind: "evict", isMoved: true };
  const areAllPlaced = pods.length >= wanted && pods.every((each) => nodeOfPod(each) !== null);
  return areAllPlaced && !isOnTarget(pods) ? { kind: "restore", surplus } : { kind: "wait" };
}

export class ReleasedPods {
  readonly #options: ReleasedPodsOptions;
  #evicted: ReadonlySet<string> = new Set();

  constructor(options: ReleasedPodsOptions) {
    this.#options = options;
  }

  async advanceAll(lists: StepLists, nowMs: number): Promise<void> {
    const { config, moves, metrics } = this.#options;
    // Mode dry-run lacks the rights to finish a move of another mode.
    if (config.mode === "dry-run") return;
    const all = releasedPods(lists.pods);
    const uids = new Set(all.map(({ pod }) => pod.metadata.uid ?? ""));
    this.#evicted = this.#evicted.intersection(uids);
    for (const released of all) {
      const { pod, release } = released;
      const podUid = pod.metadata.uid ?? "";
      if (this.#evicted.has(podUid)) continue;
      if (!moves.has(podUid)) moves.begin(resumedMove(released, config.coolDownMs, nowMs));
      const done = await this.advance(released, lists, nowMs);
      if (done === "moved") moves.arrived(podUid, lists.pods, nowMs);
      if (done === "moved" || done === "evicted") {
        metrics.evictions.inc();
        this.#evicted = this.#evicted.union(new Set([podUid]));
      }
      if (done !== "restored") continue;
      const owner = lists.replicaSets.find(({ metadata }) => metadata.uid === release.replicaSet.uid);
      moves.restored(podUid, replicasOf(owner), nowMs);
    }
  }

  /**
   * Performs the next step. Steps are repeatable, and the pod stays released until the last one, so an
   * interruption loses nothing.
   * @returns the step; null if nothing was due or the API server refused it for now
   */
  async advance(
    released: ReleasedPod,
    lists: StepLists,
    nowMs: number,
  ): Promise<"moved" | "evicted" | "restored" | null> {
    const step = nextStep(released, lists, nowMs);
    if (step.kind === "wait") return null;
    try {
      const hasOwner = await this.#endRecord(released, nowMs);
      if (step.kind === "restore" && hasOwner) {
        await this.#restore(released, step.surplus);
        return "restored";
      }
      await this.#evict(released);
      return step.kind === "evict" && step.isMoved ? "moved" : "evicted";
    } catch (error) {
      const { namespace, name } = released.pod.metadata;
      this.#options.logger.info("a moving pod stays for now", {
        namespace,
        pod: name,
        step: step.kind,
        error,
      });
      return null;
    }
  }

  /**
   * Deletes the record, so that no other new pod is sent to the target.
   * @returns whether the ReplicaSet exists
   */
  async #endRecord({ pod, release }: ReleasedPod, nowMs: number): Promise<boolean> {
    const { name, uid } = release.replicaSet;
    const ref = { ...KINDS.replicaSet, namespace: pod.metadata.namespace ?? "default", name };
    const owner = await this.#options.store.get(ref);
    if (owner === null || owner.metadata.uid !== uid) return false;
    const patch = movesDonePatch(owner, [pod.metadata.uid ?? ""], nowMs);
    await this.#options.store.jsonPatch(ref, patch);
    return true;
  }

  async #evict({ pod }: ReleasedPod): Promise<void> {
    const { namespace = "default", name, uid } = pod.metadata;
    try {
      await this.#options.store.evict(
        { namespace, name },
        uid === undefined ? {} : { preconditions: { uid } },
      );
    } catch (error) {
      if (!isStoreError(error, "not_found")) throw error;
    }
  }

  async #restore({ pod }: ReleasedPod, surplus: KubernetesObject | null): Promise<void> {
    const { store } = this.#options;
    if (surplus !== null) await this.#goesFirst(surplus);
    const { namespace = "default", name, uid } = pod.metadata;
    const ref = { ...KINDS.pod, namespace, name };
    const now = await store.get(ref);
    if (now === null || now.metadata.uid !== uid) return;
    const release = readRelease(now);
    if (release !== null) await store.jsonPatch(ref, restorePatch(now, release));
  }

  /** Keeps a cost that someone else has set. Unready pods are deleted first in any case. */
  async #goesFirst({ metadata: { namespace = "default", name, uid } }: KubernetesObject): Promise<void> {
    const { store } = this.#options;
    const now = await store.get({ ...KINDS.pod, namespace, name });
    if (now !== null && now.metadata.uid === uid) await writeCost(store, now, SURPLUS_COST);
  }
}

function replicasOf(controller: KubernetesObject | undefined): number {
  const { replicas } = looseFields<{ readonly replicas: number }>(controller?.spec);
  return typeof replicas === "number" ? replicas : 1;
}

function newestOf(pods: readonly KubernetesObject[]): KubernetesObject | null {
  const bornOf = ({ metadata }: KubernetesObject): string => metadata.creationTimestamp ?? "";
  return pods.reduce<KubernetesObject | null>(
    (newest, pod) => (newest === null || bornOf(pod) > bornOf(newest) ? pod : newest),
    null,
  );
}
