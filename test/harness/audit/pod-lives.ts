// Lives of pods as the cluster's own objects show them, seen by polling.
import { conditionsOf, podView, workloadOf, type KubernetesObject } from "@isochrone/kubernetes";

/** One pod on one node. Times are when a poll first saw it so; null: it never was. */
export interface PodLife {
  readonly uid: string;
  readonly name: string;
  readonly workload: string;
  readonly node: string;
  readonly sinceMs: number;
  readyMs: number | null;
  /**
   * A time at which it was ready, by a poll or by its own conditions, which also show readiness that came and
   * went between two polls; null: nothing shows any.
   */
  provenReadyMs: number | null;
  /** Polls that saw it before it ended. */
  sights: number;
  /** Terminating, or gone. */
  endedMs: number | null;
}

/** A pod that is not ready, at one poll. */
interface Unready {
  readonly atMs: number;
  /** When its condition Ready changed last; null: the condition doesn't say. */
  readonly sinceMs: number | null;
}

export class PodLives {
  readonly #byUid = new Map<string, PodLife>();
  /** The last poll of each pod that saw it not ready, by uid. */
  readonly #unready = new Map<string, Unready>();
  /** When the objects of the last poll were read; 0: there was none. */
  polledMs = 0;

  /** @param atMs when the objects were read */
  take(objects: readonly KubernetesObject[], atMs: number): void {
    const present = new Set<string>();
    this.polledMs = atMs;
    for (const pod of objects) {
      if (pod.kind !== "Pod" || pod.metadata.uid === undefined) continue;
      const { name, node, ready, terminating, finished } = podView(pod);
      if (node === null) continue;
      const { uid } = pod.metadata;
      let life = this.#byUid.get(uid);
      if (life === undefined) {
        life = {
          uid,
          name,
          workload: workloadNameOf(pod),
          node,
          sinceMs: atMs,
          readyMs: null,
          provenReadyMs: null,
          sights: 0,
          endedMs: null,
        };
        this.#byUid.set(uid, life);
      }
      if (ready) life.readyMs ??= atMs;
      this.#prove(life, pod, ready, atMs);
      if (terminating || finished) life.endedMs ??= atMs;
      else life.sights++;
      present.add(uid);
    }
    for (const life of this.#byUid.values()) if (!present.has(life.uid)) life.endedMs ??= atMs;
  }

  #prove(life: PodLife, pod: KubernetesObject, ready: boolean, atMs: number): void {
    const changed = conditionsOf(pod).find(({ type }) => type === "Ready")?.lastTransitionTime;
    const changedMs = changed === undefined ? null : Date.parse(changed);
    const before = this.#unready.get(life.uid);
    if (ready) {
      life.provenReadyMs = Math.min(life.provenReadyMs ?? Infinity, changedMs ?? atMs, atMs);
      return;
    }
    this.#unready.set(life.uid, { atMs, sinceMs: changedMs });
    // The time of a condition changes with its status alone: between two polls it was True.
    const hasFlipped = before !== undefined && before.sinceMs !== null && before.sinceMs !== changedMs;
    if (hasFlipped) life.provenReadyMs ??= before.atMs;
  }

  get all(): readonly PodLife[] {
    return [...this.#byUid.values()];
  }

  /** Pods of the workload that were there at any time between these two. */
  between(workload: string, fromMs: number, toMs: number): PodLife[] {
    return this.all.filter(
      (life) =>
        life.workload === workload &&
        life.sinceMs <= toMs &&
        (life.endedMs === null || life.endedMs >= fromMs),
    );
  }

  /** Node by workload of ready pods at that time; each workload has one pod. */
  placementAt(atMs: number): ReadonlyMap<string, string> {
    const there = this.all.filter(
      ({ readyMs, endedMs }) => readyMs !== null && readyMs <= atMs && (endedMs === null || endedMs > atMs),
    );
    return new Map(there.map(({ workload, node }) => [workload, node]));
  }

  /** Pods that were replaced, each with its first ready successor, in the order of time. */
  replacements(): { readonly old: PodLife; readonly next: PodLife }[] {
    const taken = new Set<string>();
    return this.all
      .filter(({ endedMs }) => endedMs !== null)
      .toSorted((a, b) => a.endedMs! - b.endedMs!)
      .flatMap((old) => {
        const next = this.all.find(
          ({ uid, workload, readyMs, sinceMs }) =>
            workload === old.workload &&
            readyMs !== null &&
            uid !== old.uid &&
            sinceMs > old.sinceMs &&
            !taken.has(uid),
        );
        if (next === undefined) return [];
        taken.add(next.uid);
        return [{ old, next }];
      });
  }
}

/** A pod that was released from its ReplicaSet has no owner any more; its name begins with the workload's. */
function workloadNameOf(pod: KubernetesObject): string {
  if (pod.metadata.ownerReferences !== undefined) return workloadOf(pod).name;
  return /^(.+)-[^-]+-[^-]+$/.exec(pod.metadata.name)?.[1] ?? pod.metadata.name;
}
