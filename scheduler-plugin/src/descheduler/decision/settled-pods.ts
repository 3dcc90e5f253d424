// Pods that a move has brought to where they are. Such a pod moves again only for a new reason: its channels
// have become slower than they were after that move. Otherwise one fault could evict a pod again and again.
export interface SettledPod {
  /** namespace/name */
  readonly pod: string;
  /** When its channels were measured after the move, wall clock milliseconds. */
  readonly atMs: number;
  /** Mean round trip of its channels then, milliseconds. */
  readonly afterMs: number;
}

/** Slower by less than both of these is no new reason. */
const LEAST_RATIO = 1.1;
const LEAST_MS = 0.1;
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

  has(pod: string): boolean {
    return this.#notes.some((one) => one.pod === pod);
  }

  /**
   * Returns why the pod stays, in words; null if it may move.
   * @param latencyMs of its channels now; null: not known
   */
  reasonToStay(pod: string, latencyMs: number | null, nowMs: number): string | null {
    this.#notes = this.#notes.filter(({ atMs }) => nowMs - atMs < SETTLED_MS);
    const note = this.#notes.find((one) => one.pod === pod);
    if (note === undefined || latencyMs === null) return null;
    const { afterMs } = note;
    return latencyMs > Math.max(afterMs * LEAST_RATIO, afterMs + LEAST_MS)
      ? null
      : `it was moved, and its channels take no longer than afterwards (${latencyMs.toFixed(2)} ms, then ${afterMs.toFixed(2)} ms)`;
  }
}
