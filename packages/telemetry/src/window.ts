/** How a window is cut and how its panes are made. */
interface WindowOptions<P> {
  /** Length of a pane. Panes begin at multiples of it. */
  readonly paneMs: number;
  /** How many panes the window has, the current one included. */
  readonly panes: number;
  create(): P;
  merge(into: P, from: P): void;
}

/** One pane that has data. */
interface Pane<P> {
  readonly startMs: number;
  readonly value: P;
}

/** Sliding window of panes. It is sparse: only panes that somebody asked to write to exist. */
export class Window<P> {
  readonly #options: WindowOptions<P>;
  /** Ascending by startMs; at most panes + 1, because one may lie ahead of now. */
  #panes: Pane<P>[] = [];

  /** @throws RangeError unless paneMs is positive and finite and panes is a positive integer */
  constructor(options: WindowOptions<P>) {
    if (!(options.paneMs > 0 && Number.isFinite(options.paneMs))) {
      throw new RangeError(`paneMs must be positive and finite, got ${options.paneMs}`);
    }
    if (!(Number.isSafeInteger(options.panes) && options.panes > 0)) {
      throw new RangeError(`panes must be a positive integer, got ${options.panes}`);
    }
    this.#options = options;
  }

  /**
   * The pane of `timeMs`, made if need be. Null when the time can't be taken: older than the window that ends
   * with the pane of `nowMs` (too late), more than one pane length after `nowMs` (from the future), or no
   * number.
   */
  pane(timeMs: number, nowMs: number): P | null {
    const { paneMs } = this.#options;
    if (!(timeMs <= nowMs + paneMs)) return null;
    const startMs = Math.floor(timeMs / paneMs) * paneMs;
    if (startMs < this.#oldestStartMs(nowMs, this.#options.panes)) return null;
    let at = this.#panes.length;
    while (at > 0 && this.#panes[at - 1]!.startMs > startMs) at--;
    const found = this.#panes[at - 1];
    if (found?.startMs === startMs) return found.value;
    const value = this.#options.create();
    if (at === this.#panes.length) this.#panes.push({ startMs, value });
    else this.#panes.splice(at, 0, { startMs, value });
    this.expire(nowMs);
    return value;
  }

  /**
   * A merged copy of the newest `panes` panes (default: the whole window), ending with the pane of `nowMs`;
   * null without data. A pane ahead of `nowMs` is not part of it yet.
   */
  read(nowMs: number, options: { readonly panes?: number } = {}): P | null {
    const oldestMs = this.#oldestStartMs(
      nowMs,
      Math.min(options.panes ?? this.#options.panes, this.#options.panes),
    );
    let merged: P | null = null;
    for (const { startMs, value } of this.#panes) {
      if (startMs < oldestMs || startMs > nowMs) continue;
      merged ??= this.#options.create();
      this.#options.merge(merged, value);
    }
    return merged;
  }

  /** Drops the panes that the window of `nowMs` no longer covers. True when nothing is left. */
  expire(nowMs: number): boolean {
    const oldestMs = this.#oldestStartMs(nowMs, this.#options.panes);
    let dropped = 0;
    while (dropped < this.#panes.length && this.#panes[dropped]!.startMs < oldestMs) dropped++;
    if (dropped > 0) this.#panes.splice(0, dropped);
    return this.#panes.length === 0;
  }

  /** The panes that exist, oldest first. The values are the live ones, not copies. */
  entries(): Iterable<Pane<P>> {
    return this.#panes.values();
  }

  #oldestStartMs(nowMs: number, panes: number): number {
    const { paneMs } = this.#options;
    return (Math.floor(nowMs / paneMs) - panes + 1) * paneMs;
  }
}
