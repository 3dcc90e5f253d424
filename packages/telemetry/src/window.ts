interface WindowOptions<P> {
  /** Length of a pane. Panes begin at multiples of it. */
  readonly paneMs: number;
  readonly panes: number;
  create(): P;
  merge(into: P, from: P): void;
}

interface Pane<P> {
  readonly startMs: number;
  readonly value: P;
}

/** Sparse sliding window: only written panes exist. */
export class Window<P> {
  readonly #options: WindowOptions<P>;
  /** Ascending by startMs; at most panes + 1, because one may lie ahead of now. */
  #panes: Pane<P>[] = [];

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
   * Returns the pane of `timeMs`, created if needed. Null: before the window that ends at `nowMs`, more than
   * one pane after `nowMs`, or not a number.
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
   * Merged copy of the newest `panes` panes up to the one of `nowMs`. Excludes a pane ahead of it. Null: no
   * data.
   * @default panes the whole window
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

  expire(nowMs: number): boolean {
    const oldestMs = this.#oldestStartMs(nowMs, this.#options.panes);
    let dropped = 0;
    while (dropped < this.#panes.length && this.#panes[dropped]!.startMs < oldestMs) dropped++;
    if (dropped > 0) this.#panes.splice(0, dropped);
    return this.#panes.length === 0;
  }

  /** Existing panes, oldest first; live values, not copies. */
  entries(): Iterable<Pane<P>> {
    return this.#panes.values();
  }

  #oldestStartMs(nowMs: number, panes: number): number {
    const { paneMs } = this.#options;
    return (Math.floor(nowMs / paneMs) - panes + 1) * paneMs;
  }
}
