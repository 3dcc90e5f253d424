// Lives of pods as the cluster's own objects show them, seen by polling.
import { podView, workloadOf, type KubernetesObject } from "@isochrone/kubernetes";

/** One pod on one node. Times are when a poll first saw it so; null: it never was. */
export interface PodLife {
  readonly uid: string;
  readonly name: string;
  readonly workload: string;
  readonly node: string;
  readonly sinceMs: number;
  readyMs: number | null;
  /** Terminating, or gone. */
  endedMs: number | null;
}

export class PodLives {
  readonly #byUid = new Map<string, PodLife>();

  /** @param atMs when the objects were read */
  take(objects: readonly KubernetesObject[], atMs: number): void {
    const present = new Set<string>();
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
          endedMs: null,
        };
        this.#byUid.set(uid, life);
      }
      if (ready) life.readyMs ??= atMs;
      if (terminating || finished) life.endedMs ??= atMs;
      present.add(uid);
    }
    for (const life of this.#byUid.values()) if (!present.has(life.uid)) life.endedMs ??= atMs;
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
