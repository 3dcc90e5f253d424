/** Returns null if nothing was seen. Event times slightly in the future give 0. */
export function ageSeconds(newestMs: number | undefined, nowMs: number): number | null {
  return newestMs === undefined || !Number.isFinite(newestMs) ? null : Math.max(0, nowMs - newestMs) / 1000;
}

export function rfc3339(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
