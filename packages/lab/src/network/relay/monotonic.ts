/**
 * The system's monotonic clock in ms, the same in every thread of the relay; only the relay's entry points
 * use it.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
