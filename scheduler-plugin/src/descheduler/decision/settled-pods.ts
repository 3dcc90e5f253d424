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

/** Slower by less than both of these is no new reason. */
const LEAST_RATIO = 1.25;
const LEAST_MS = 0.5;
/** Afterwards a pod may move for any reason: a network that drifts has better places by then. */
const SETTLED_MS = 30 * 60_000;
/** A pod moves rarely: more notes than these would be of pods that are gone. */
const MAX_NOTES = 500;

export class SettledPods {
  #notes: readonly SettledPod[] = [];

  get notes(): readonly SettledPod[] {
    return this.#notes;
  }

  restore(notes: readonly SettledPod[]): void {
    this.#notes = notes;
  }

  add(note: SettledPod): void {
    this.#notes = [...this.#notes.filter(({ pod }) => pod !== note.pod), note].slice(-MAX_NOTES);
  }

  /** The clock was set by so much. */
  shift(stepMs: number): void {
    this.#notes = this.#notes.map((note) => ({ ...note, atMs: note.atMs + stepMs }));
  }

  /** Null: it may move. */
  noteOf(pod: string, nowMs: number): SettledPod | null {
    this.#notes = this.#notes.filter(({ atMs }) => nowMs - atMs < SETTLED_MS);
    return this.#notes.find((one) => one.pod === pod) ?? null;
  }
}

/** Whether the channels of the pod became slower than they were after its move. @param ms now */
export function isSlower({ afterMs }: SettledPod, ms: number): boolean {
  return ms > Math.max(afterMs * LEAST_RATIO, afterMs + LEAST_MS);
}
