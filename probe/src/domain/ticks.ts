/** Period of shared send wake-ups. Milliseconds. */
const TICK_MS = 100;
/** Flows with shorter intervals keep their own times. */
const LEAST_INTERVAL_MS = 500;

/** Wake-up period shared by flows of this interval; 0: they share none. */
export function tickMsOf(intervalMs: number): number {
  return intervalMs >= LEAST_INTERVAL_MS ? TICK_MS : 0;
}

/** The next shared wake-up at or after `atMs`, on a common clock. */
export function onTick(atMs: number, intervalMs: number): number {
  const tickMs = tickMsOf(intervalMs);
  return tickMs === 0 ? atMs : Math.ceil(atMs / tickMs) * tickMs;
}
