/** Maximum units per system call and the time they cover: finer pacing is not worth the calls. */
const MAX_BATCH = 32;
const BATCH_NS = 250_000;
/** Maximum lateness a sender catches up at once: more would be a burst. */
const MAX_LATE_NS = 1_000_000;

export class Pacer {
  #nextNs = Number.NEGATIVE_INFINITY;

  next(nowNs: number, bitsPerSecond: number, unitBytes: number): { units: number; untilNs: number } {
    const unitNs = (unitBytes * 8e9) / bitsPerSecond;
    // The rate may have risen since the last call, which shortens the wait.
    this.#nextNs = Math.min(this.#nextNs, nowNs + Math.max(BATCH_NS, unitNs));
    if (nowNs < this.#nextNs) return { units: 0, untilNs: this.#nextNs };
    const units = Math.min(MAX_BATCH, Math.max(1, Math.round(BATCH_NS / unitNs)));
    this.#nextNs = Math.max(this.#nextNs, nowNs - MAX_LATE_NS) + units * unitNs;
    return { units, untilNs: this.#nextNs };
  }
}
