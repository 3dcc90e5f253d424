/**
 * Units that leave in one system call at most, and the time that they are to last: finer isn't worth the
 * calls.
 */
const MAX_BATCH = 32;
const BATCH_NS = 250_000;
/** What a late sender may catch up at once: more would be a burst of its own. */
const MAX_LATE_NS = 1_000_000;

/** Spreads units in time at a rate that may change with every call. */
export class Pacer {
  #nextNs = Number.NEGATIVE_INFINITY;

  /** How many units to send now; 0: none before `untilNs`. */
  next(nowNs: number, bitsPerSecond: number, unitBytes: number): { units: number; untilNs: number } {
    const unitNs = (unitBytes * 8e9) / bitsPerSecond;
    // The rate may have risen since the last call: a wait that was right then needn't be now.
    this.#nextNs = Math.min(this.#nextNs, nowNs + Math.max(BATCH_NS, unitNs));
    if (nowNs < this.#nextNs) return { units: 0, untilNs: this.#nextNs };
    const units = Math.min(MAX_BATCH, Math.max(1, Math.round(BATCH_NS / unitNs)));
    this.#nextNs = Math.max(this.#nextNs, nowNs - MAX_LATE_NS) + units * unitNs;
    return { units, untilNs: this.#nextNs };
  }
}
