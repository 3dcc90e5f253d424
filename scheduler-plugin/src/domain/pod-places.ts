// Last known place of the pods of stored decisions. A deleted pod is remembered as long as a decision about
// it.

export interface PodPlace {
  /** `gone`: ended or deleted; `node` is where it ran. */
  readonly state: "pending" | "bound" | "gone";
  readonly node: string | null;
  readonly atMs: number | null;
}

export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** States only advance in this order. */
const RANK = { pending: 0, bound: 1, gone: 2 } as const;
const PENDING: PodPlace = { state: "pending", node: null, atMs: null };

export interface HeldPlace {
  readonly key: string;
  decisions: number;
  place: PodPlace;
}

export class PodPlaces {
  readonly #kept = new Map<string, HeldPlace>();

  hold(pod: PodRef, place: PodPlace | null): HeldPlace {
    const key = keyOf(pod);
    let held = this.#kept.get(key);
    if (held === undefined) this.#kept.set(key, (held = { key, decisions: 0, place: place ?? PENDING }));
    held.decisions++;
    return held;
  }

  release(held: HeldPlace): void {
    if (--held.decisions === 0) this.#kept.delete(held.key);
  }

  bound(pod: PodRef, node: string, atMs: number): void {
    this.#change(pod, () => ({ state: "bound", node, atMs }));
  }

  gone(pod: PodRef): void {
    this.#change(pod, (place) => ({ ...place, state: "gone" }));
  }

  /** Adopts another replica's state if it is more advanced. */
  learn(pod: PodRef, place: PodPlace): void {
    const kept = this.#kept.get(keyOf(pod));
    if (kept !== undefined && RANK[place.state] > RANK[kept.place.state]) kept.place = place;
  }

  of(pod: PodRef): PodPlace {
    return this.#kept.get(keyOf(pod))?.place ?? PENDING;
  }

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
