/** How many times are remembered of a series whose points may come in any order. */
const REMEMBERED = 16;

/** Tells repeated points of one series of a foreign source, whose records have no sequence, by their time. */
export class RepeatGuard {
  readonly #anyOrder: boolean;
  #newestMs = Number.NEGATIVE_INFINITY;
  /** Ascending; deltas only: each counts, so an older one isn't a repeat by being older. */
  #times: number[] = [];

  constructor(anyOrder: boolean) {
    this.#anyOrder = anyOrder;
  }

  /** True: seen before, or too old to tell. Notes the time. */
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
