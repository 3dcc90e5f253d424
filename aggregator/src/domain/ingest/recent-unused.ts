// Unused points of the newest window by reason. Counters since the start cannot show the current state.
import { UNUSED, type Unused } from "./sink.ts";

interface RecentlyUnused {
  readonly reason: Unused;
  readonly points: number;
  readonly example: string;
}

interface Reading {
  readonly atMs: number;
  readonly counts: Readonly<Record<Unused, number>>;
}

export class RecentUnused {
  readonly #counts: Readonly<Record<Unused, number>>;
  readonly #examples: Readonly<Record<Unused, string>>;
  /** Oldest first; the first one precedes the window. */
  #readings: Reading[] = [];
  #windowMs = 0;

  constructor(counts: Readonly<Record<Unused, number>>, examples: Readonly<Record<Unused, string>>) {
    this.#counts = counts;
    this.#examples = examples;
  }

  note(nowMs: number, windowMs: number, paneMs: number): void {
    this.#windowMs = windowMs;
    const newest = this.#readings.at(-1);
    if (newest !== undefined && nowMs >= newest.atMs && nowMs - newest.atMs < paneMs) return;
    // Drop readings in the future after the clock was set back.
    const past = this.#readings.filter(({ atMs }) => atMs <= nowMs);
    const first = past.findLastIndex(({ atMs }) => atMs <= nowMs - windowMs);
    this.#readings = [...past.slice(Math.max(0, first)), { atMs: nowMs, counts: { ...this.#counts } }];
  }

  list(nowMs: number): RecentlyUnused[] {
    const before = this.#readings.findLast(({ atMs }) => atMs <= nowMs - this.#windowMs)?.counts;
    return UNUSED.map((reason) => ({
      reason,
      points: this.#counts[reason] - (before?.[reason] ?? 0),
      example: this.#examples[reason],
    }))
      .filter(({ points }) => points > 0)
      .sort((a, b) => b.points - a.points);
  }
}
