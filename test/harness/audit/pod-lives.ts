import { conditionsOf, podView, workloadOf, type KubernetesObject } from "@isochrone/kubernetes";

/** One pod on one node. Times are first sightings by a poll. Null: not seen yet. */
export interface PodLife {
  readonly uid: string;
  readonly name: string;
  readonly workload: string;
  readonly node: string;
  readonly sinceMs: number;
  readyMs: number | null;
  /** Proof of readiness by a poll or by the pod's conditions. Null: no proof. */
  provenReadyMs: number | null;
  sights: number;
  endedMs: number | null;
}

interface Unready {
  readonly atMs: number;
  /** Last transition of the Ready condition. Null: unknown. */
  readonly sinceMs: number | null;
}

export class PodLives {
  readonly #byUid = new Map<string, PodLife>();
  /** Last poll of each pod that saw it as not ready, by uid. */
  readonly #unready = new Map<string, Unready>();
  /** Time at which the last poll read the objects; 0 before the first poll. */
  polledMs = 0;

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
    // A transition time changes only with the status, so the pod was ready between the two polls.
    const hasFlipped = before !== undefined && before.sinceMs !== null && before.sinceMs !== changedMs;
    if (hasFlipped) life.provenReadyMs ??= before.atMs;
  }

  get all(): readonly PodLife[] {
    return [...this.#byUid.values()];
  }

  between(workload: string, fromMs: number, toMs: number): PodLife[] {
    return this.all.filter(
      (life) =>
        life.workload === workload &&
        life.sinceMs <= toMs &&
        (life.endedMs === null || life.endedMs >= fromMs),
    );
  }

  placementAt(atMs: number): ReadonlyMap<string, string> {
    const there = this.all.filter(
      ({ readyMs, endedMs }) => readyMs !== null && readyMs <= atMs && (endedMs === null || endedMs > atMs),
    );
    return new Map(there.map(({ workload, node }) => [workload, node]));
  }

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

/** Reads the pod's name, because a pod released from its ReplicaSet has no owner. */
function workloadNameOf(pod: KubernetesObject): string {
  if (pod.metadata.ownerReferences !== undefined) return workloadOf(pod).name;
  return /^(.+)-[^-]+-[^-]+$/.exec(pod.metadata.name)?.[1] ?? pod.metadata.name;
}
