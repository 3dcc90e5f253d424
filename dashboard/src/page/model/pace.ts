/** Divisor of reading time: at most a tenth, so that large clusters leave the browser free. */
const SPARE = 10;
const LEAST_MS = 500;
/** Maximum delay for a new graph, however slow the last reading was. */
const MOST_MS = 5_000;
export const ASK_EVERY_MS = 1_000;
export const PATIENCE_MS = 10_000;
const LONG_MS = 2_000;

export function readAgainMs(beganMs: number, endedMs: number, isStreaming: boolean): number {
  // Polling: each second, or at once after a slower answer.
  if (!isStreaming) return Math.max(beganMs + ASK_EVERY_MS, endedMs);
  return beganMs + Math.min(Math.max(LEAST_MS, SPARE * (endedMs - beganMs)), endedMs - beganMs + MOST_MS);
}

export function askingWords(askedMs: number | null, nowMs: number): string {
  const waited = askedMs === null ? 0 : nowMs - askedMs;
  return waited < LONG_MS
    ? "asking every second instead"
    : `waiting for an answer for ${Math.floor(waited / 1000)} s`;
}
