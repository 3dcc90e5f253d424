// Pods that a move has brought to where they are. They move again only for a new reason: channels of one of
// them have become slower than they were after its move. Otherwise one fault could evict a pod again and
// again.
export interface SettledPod {
  /** namespace/name */
  readonly pod: string;
  /** When its channels were measured after the move, wall clock milliseconds. */
  readonly atMs: number;
  /** Mean round trip of its channels then, milliseconds. */
  readonly afterMs: number;
}

/** A new reason is slower by more than both of these. */
const LEAST_RATIO = 1.25;
const LEAST_MS = 0.5;
/** Afterwards a pod may move for any reason: a network that drifts has better places by then. */
const SETTLED_MS = 30 * 60_000;
/** A pod moves rarely: more notes than these would be of pods that are gone. */
const MAX_NOTES = 500;

export class SettledPods {
  /** By pod, those that moved last at the end. */
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

  /** The clock was set by so much. */
  shift(stepMs: number): void {
    for (const [pod, note] of this.#notes) this.#notes.set(pod, { ...note, atMs: note.atMs + stepMs });
  }

  /** Forgets pods that may move for any reason again. */
  expire(nowMs: number): void {
    for (const [pod, { atMs }] of this.#notes) if (nowMs - atMs >= SETTLED_MS) this.#notes.delete(pod);
  }

  /** Null: the pod may move. */
  noteOf(pod: string): SettledPod | null {
    return this.#notes.get(pod) ?? null;
  }
}

/**
 * Whether the channels of the pod became slower than they were after its move.
 * @param ms mean round trip of its channels now
 */
export function isSlower({ afterMs }: SettledPod, ms: number): boolean {
  return ms > Math.max(afterMs * LEAST_RATIO, afterMs + LEAST_MS);
}
