// Pods on the target of a move. They move again only if one of their channels has become slower since;
// otherwise one fault could evict a pod repeatedly.
export interface SettledPod {
  readonly pod: string;
  readonly atMs: number;
  readonly afterMs: number;
}

/** Slower means above both of these thresholds. */
const LEAST_RATIO = 1.25;
const LEAST_MS = 0.5;
/** After this time a pod may move for any reason: the network may have drifted. */
const SETTLED_MS = 30 * 60_000;
/** Pods move rarely, so older notes belong to pods that are gone. */
const MAX_NOTES = 500;

export class SettledPods {
  readonly #notes = new Map<string, SettledPod>();

  get notes(): readonly SettledPod[] {
    return [...this.#notes.values()];
  }

  restore(notes: readonly SettledPod[]): void {
    this.#notes.clear();
    for (const note of notes) this.#notes.set(note.pod, note);
  }

  add(note: SettledPod): void {
    this.#notes.delete(note.pod);
    this.#notes.set(note.pod, note);
    const [oldest] = this.#notes.keys();
    if (this.#notes.size > MAX_NOTES) this.#notes.delete(oldest!);
  }

  /** Adjusts for a wall-clock step. */
  shift(stepMs: number): void {
    for (const [pod, note] of this.#notes) this.#notes.set(pod, { ...note, atMs: note.atMs + stepMs });
  }

  expire(nowMs: number): void {
    for (const [pod, { atMs }] of this.#notes) if (nowMs - atMs >= SETTLED_MS) this.#notes.delete(pod);
  }

  noteOf(pod: string): SettledPod | null {
    return this.#notes.get(pod) ?? null;
  }
}

/**
 * True if the pod's channels are slower than after its move.
 * @param ms mean round trip of its channels now
 */
export function isSlower({ afterMs }: SettledPod, ms: number): boolean {
  return ms > Math.max(afterMs * LEAST_RATIO, afterMs + LEAST_MS);
}
