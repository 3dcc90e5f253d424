/** System monotonic clock in ms, equal in all threads of the relay; only entry points use it. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
