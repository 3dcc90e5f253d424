/** Null for what was never seen. Event times may lie a little ahead: that is an age of 0. */
export function ageSeconds(newestMs: number | undefined, nowMs: number): number | null {
  return newestMs === undefined || !Number.isFinite(newestMs) ? null : Math.max(0, nowMs - newestMs) / 1000;
}

/** A time as the graph API writes it. */
export function rfc3339(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
