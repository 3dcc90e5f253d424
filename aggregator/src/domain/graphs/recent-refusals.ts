// Refusals of the newest window by sender. Counters since the start cannot show the current state.

interface RecentRefusal {
  readonly source: string;
  readonly reason: string;
  readonly refused: number;
}

/** Limit of source and reason pairs per pane. The excess counts as `OTHERS`. */
const MAX_PAIRS = 200;
const MAX_LISTED = 20;
const MAX_NAME_CHARACTERS = 253;
export const OTHERS = "other sources";

export class RecentRefusals {
  readonly #windowMs: number;
  readonly #paneMs: number;
  /** Keys: pane number (oldest first), then reason and source. */
  readonly #panes = new Map<number, Map<string, RecentRefusal>>();

  constructor({ windowMs, paneMs }: { readonly windowMs: number; readonly paneMs: number }) {
    this.#windowMs = windowMs;
    this.#paneMs = paneMs;
  }

  add(source: string, reason: string, nowMs: number): void {
    this.#expire(nowMs);
    const number = Math.floor(nowMs / this.#paneMs);
    let pane = this.#panes.get(number);
    if (pane === undefined) this.#panes.set(number, (pane = new Map()));
    const name = source.slice(0, MAX_NAME_CHARACTERS);
    count(pane, pane.has(keyOf(reason, name)) || pane.size < MAX_PAIRS ? name : OTHERS, reason, 1);
  }

  list(nowMs: number): RecentRefusal[] {
    this.#expire(nowMs);
    const sums = new Map<string, RecentRefusal>();
    for (const pane of this.#panes.values())
      for (const { source, reason, refused } of pane.values()) count(sums, source, reason, refused);
    return [...sums.values()].sort((a, b) => b.refused - a.refused).slice(0, MAX_LISTED);
  }

  #expire(nowMs: number): void {
    const oldest = Math.floor((nowMs - this.#windowMs) / this.#paneMs);
    // Drop panes in the future after the clock was set back.
    const newest = Math.floor(nowMs / this.#paneMs) + 1;
    for (const number of this.#panes.keys())
      if (number <= oldest || number > newest) this.#panes.delete(number);
  }
}

function keyOf(reason: string, source: string): string {
  return `${reason}\n${source}`;
}

function count(into: Map<string, RecentRefusal>, source: string, reason: string, more: number): void {
  const key = keyOf(reason, source);
  into.set(key, { source, reason, refused: (into.get(key)?.refused ?? 0) + more });
}
