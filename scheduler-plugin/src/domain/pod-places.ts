// Where the pods of kept decisions are, as the cluster showed them last: a pod that was deleted is remembered
// as long as a decision about it.

/** Where the cluster shows a pod. */
export interface PodPlace {
  /** `gone`: it ended or was deleted, and ran on `node`. */
  readonly state: "pending" | "bound" | "gone";
  readonly node: string | null;
  /** When it was bound, wall clock milliseconds. */
  readonly atMs: number | null;
}

/** A pod of one life: another of the same name has another UID. */
export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  /** Empty where nobody said. */
  readonly uid: string;
}

/** A pod goes through its states in this order, and never back. */
const RANK = { pending: 0, bound: 1, gone: 2 } as const;
const PENDING: PodPlace = { state: "pending", node: null, atMs: null };

/** What is remembered of a pod while decisions about it are kept. */
export interface HeldPlace {
  readonly key: string;
  decisions: number;
  place: PodPlace;
}

export class PodPlaces {
  readonly #kept = new Map<string, HeldPlace>();

  /** One more decision about the pod is kept. */
  hold(pod: PodRef, place: PodPlace | null): HeldPlace {
    const key = keyOf(pod);
    let held = this.#kept.get(key);
    if (held === undefined) this.#kept.set(key, (held = { key, decisions: 0, place: place ?? PENDING }));
    held.decisions++;
    return held;
  }

  /** One less is. */
  release(held: HeldPlace): void {
    if (--held.decisions === 0) this.#kept.delete(held.key);
  }

  bound(pod: PodRef, node: string, atMs: number): void {
    this.#change(pod, () => ({ state: "bound", node, atMs }));
  }

  gone(pod: PodRef): void {
    this.#change(pod, (place) => ({ ...place, state: "gone" }));
  }

  /** Takes what another replica knows of the pod, if this one knows less. */
  learn(pod: PodRef, place: PodPlace): void {
    const kept = this.#kept.get(keyOf(pod));
    if (kept !== undefined && RANK[place.state] > RANK[kept.place.state]) kept.place = place;
  }

  of(pod: PodRef): PodPlace {
    return this.#kept.get(keyOf(pod))?.place ?? PENDING;
  }

  /** Of pods that no decision is about nothing is kept. */
  #change(pod: PodRef, change: (before: PodPlace) => PodPlace): void {
    for (const uid of [pod.uid, ""]) {
      const kept = this.#kept.get(keyOf({ ...pod, uid }));
      if (kept !== undefined) kept.place = change(kept.place);
    }
  }
}

function keyOf({ namespace, name, uid }: PodRef): string {
  return `${namespace}/${name}/${uid}`;
}
