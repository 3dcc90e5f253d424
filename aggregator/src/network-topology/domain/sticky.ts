/** Range of written costs: upstream reads a missing pair as 100, and the same host as 0. */
const MIN_COST = 1;
const MAX_COST = 99;
/** Hysteresis of a written cost: in units, or as a share of the cost. */
const COST_MARGIN_UNITS = 0.5;
const COST_MARGIN_RATIO = 0.1;
/** Tolerance so that near-integers are not rounded up. */
const ROUNDING_ERROR = 1e-9;

/** clamp(ceil(p90 in units), 1, 99), or the written cost while it is near enough. */
export function stickyCost(writtenCost: number | null, p90Ms: number, unitMs: number): number {
  const units = p90Ms / unitMs;
  const cost = Math.min(Math.max(Math.ceil(units - ROUNDING_ERROR), MIN_COST), MAX_COST);
  if (writtenCost === null || writtenCost < MIN_COST || writtenCost > MAX_COST) return cost;
  const margin = Math.max(COST_MARGIN_UNITS, COST_MARGIN_RATIO * writtenCost);
  const isNear = units > writtenCost - 1 - margin && units <= writtenCost + margin;
  return isNear ? writtenCost : cost;
}

const MEGABIT = 1_000_000;

/** Whole Mbit/s, rounded down to at least 1; or the written value within `tolerance` (a share). */
export function stickyBandwidth(written: number | null, bitsPerSecond: number, tolerance: number): number {
  if (written !== null && Math.abs(bitsPerSecond - written) <= tolerance * written) return written;
  return bitsPerSecond < MEGABIT ? Math.floor(bitsPerSecond) : Math.floor(bitsPerSecond / MEGABIT) * MEGABIT;
}
