// Points within the newest window that no graph is drawn from, by reason. The counters since the start can't
// tell what is left out now.
import { UNUSED, type Unused } from "./sink.ts";

/** Points that were left out for one reason. */
interface RecentlyUnused {
  readonly reason: Unused;
  readonly points: number;
  /** A metric of these. */
  readonly example: string;
}

interface Reading {
  readonly atMs: number;
  readonly counts: Readonly<Record<Unused, number>>;
}

export class RecentUnused {
  readonly #counts: Readonly<Record<Unused, number>>;
  readonly #examples: Readonly<Record<Unused, string>>;
  /** The oldest first; the first is from before the window. */
  #readings: Reading[] = [];
  #windowMs = 0;

  /** @param counts since the start, by reason */
  constructor(counts: Readonly<Record<Unused, number>>, examples: Readonly<Record<Unused, string>>) {
    this.#counts = counts;
    this.#examples = examples;
  }

  /** Reads the counters once a pane. */
  note(nowMs: number, windowMs: number, paneMs: number): void {
    this.#windowMs = windowMs;
    const newest = this.#readings.at(-1);
    if (newest !== undefined && nowMs >= newest.atMs && nowMs - newest.atMs < paneMs) return;
    // Readings of a later time were taken before the clock was set back.
    const past = this.#readings.filter(({ atMs }) => atMs <= nowMs);
    const first = past.findLastIndex(({ atMs }) => atMs <= nowMs - windowMs);
    this.#readings = [...past.slice(Math.max(0, first)), { atMs: nowMs, counts: { ...this.#counts } }];
  }

  /** The most first. */
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
