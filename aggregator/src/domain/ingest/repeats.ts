const REMEMBERED = 16;

/** Detects repeated points by time, for foreign sources whose records have no sequence. */
export class RepeatGuard {
  readonly #anyOrder: boolean;
  #newestMs = Number.NEGATIVE_INFINITY;
  /** Ascending. Used for deltas only, where an older point is not a repeat. */
  #times: number[] = [];

  constructor(anyOrder: boolean) {
    this.#anyOrder = anyOrder;
  }

  /** Returns true if the time was seen before or is too old to tell; records it otherwise. */
  seen(timeMs: number): boolean {
    if (!this.#anyOrder) {
      if (timeMs <= this.#newestMs) return true;
      this.#newestMs = timeMs;
      return false;
    }
    const times = this.#times;
    if (times.includes(timeMs) || (times.length === REMEMBERED && timeMs < times[0]!)) return true;
    let at = times.length;
    while (at > 0 && times[at - 1]! > timeMs) at--;
    times.splice(at, 0, timeMs);
    if (times.length > REMEMBERED) times.shift();
    return false;
  }
}
