// How often the graphs are read. Pure: times in, times out, in milliseconds of one clock.

/**
 * Reading takes at most a tenth of the time, so that a large cluster leaves the browser free for other
 * things.
 */
const SPARE = 10;
const LEAST_MS = 500;
/**
 * Nobody waits longer than this for a new graph, however slow the reading was: the machine may have been
 * busy.
 */
const MOST_MS = 5_000;
/** While the page asks by itself. */
export const ASK_EVERY_MS = 1_000;
/** A question without an answer is given up after this long. */
export const PATIENCE_MS = 10_000;
/** A question that is under way for longer than this is told of. */
const LONG_MS = 2_000;

/** When the graphs may be read again after a reading that took from `beganMs` to `endedMs`. */
export function readAgainMs(beganMs: number, endedMs: number, isStreaming: boolean): number {
  // What asks by itself asks each second, and at once where the answer took longer.
  if (!isStreaming) return Math.max(beganMs + ASK_EVERY_MS, endedMs);
  return beganMs + Math.min(Math.max(LEAST_MS, SPARE * (endedMs - beganMs)), endedMs - beganMs + MOST_MS);
}

/**
 * What the page does while the event stream is lost.
 * @param askedMs since when a question is under way; null: none is
 */
export function askingWords(askedMs: number | null, nowMs: number): string {
  const waited = askedMs === null ? 0 : nowMs - askedMs;
  return waited < LONG_MS
    ? "asking every second instead"
    : `waiting for an answer for ${Math.floor(waited / 1000)} s`;
}
