interface Mark {
  readonly offset: number;
  readonly appendedAtMs: number;
}

/** Fine enough against horizons of many seconds. */
const MARK_EVERY_MS = 1000;

/**
 * Up to where a partition may be committed: whoever takes it over must find in it everything of the last
 * `horizonMs`, to know the last values of its counters.
 */
export class CommitHorizon {
  readonly #horizonMs: number;
  /** Ascending; the first is the newest that is old enough, as far as was looked. */
  #marks: Mark[] = [];
  #end: Mark = { offset: 0, appendedAtMs: Number.NEGATIVE_INFINITY };

  /** @param horizonMs 0 for partitions without counters */
  constructor(horizonMs: number) {
    this.#horizonMs = horizonMs;
  }

  note(offset: number, appendedAtMs: number): void {
    const last = this.#marks.at(-1);
    if (last === undefined || appendedAtMs - last.appendedAtMs >= MARK_EVERY_MS)
      this.#marks.push({ offset, appendedAtMs });
    this.#end = { offset: offset + 1, appendedAtMs };
  }

  /** The offset to commit when everything before `doneOffset` is done; null: none yet. */
  offset(doneOffset: number, nowMs: number): number | null {
    if (this.#horizonMs === 0) return doneOffset;
    const oldestMs = nowMs - this.#horizonMs;
    if (this.#end.appendedAtMs < oldestMs) return Math.min(this.#end.offset, doneOffset);
    let passed = 0;
    while (passed < this.#marks.length && this.#marks[passed]!.appendedAtMs < oldestMs) passed++;
    if (passed > 1) this.#marks.splice(0, passed - 1);
    return passed === 0 ? null : Math.min(this.#marks[0]!.offset, doneOffset);
  }
}
