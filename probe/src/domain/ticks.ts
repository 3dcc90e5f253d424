/** Between two wake-ups for sends: the packets of several flows leave in one. Milliseconds. */
const TICK_MS = 100;
/** Flows of a shorter interval keep to their own times. */
const LEAST_INTERVAL_MS = 500;

/** Time between wake-ups that flows of this interval share; 0: they share none. */
export function tickMsOf(intervalMs: number): number {
  return intervalMs >= LEAST_INTERVAL_MS ? TICK_MS : 0;
}

/** The next shared wake-up at or after `atMs` of a clock that they all go by. */
export function onTick(atMs: number, intervalMs: number): number {
  const tickMs = tickMsOf(intervalMs);
  return tickMs === 0 ? atMs : Math.ceil(atMs / tickMs) * tickMs;
}
