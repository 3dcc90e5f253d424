/**
 * Smallest and largest cost that is written: upstream takes a pair that it doesn't find for 100, and 0 for
 * the same host.
 */
const MIN_COST = 1;
const MAX_COST = 99;
/**
 * A cost that is written stays until the figure lies so far outside of what it stands for: units, or a share
 * of the cost.
 */
const COST_MARGIN_UNITS = 0.5;
const COST_MARGIN_RATIO = 0.1;
/** Figures that are a whole number but for the error of binary fractions are not rounded up once more. */
const ROUNDING_ERROR = 1e-9;

/**
 * clamp(ceil(p90 in units of the scale), 1, 99), unless what is written is still near enough: jitter must not
 * rewrite the object.
 */
export function stickyCost(writtenCost: number | null, p90Ms: number, unitMs: number): number {
  const units = p90Ms / unitMs;
  const cost = Math.min(Math.max(Math.ceil(units - ROUNDING_ERROR), MIN_COST), MAX_COST);
  if (writtenCost === null || writtenCost < MIN_COST || writtenCost > MAX_COST) return cost;
  const margin = Math.max(COST_MARGIN_UNITS, COST_MARGIN_RATIO * writtenCost);
  const isNear = units > writtenCost - 1 - margin && units <= writtenCost + margin;
  return isNear ? writtenCost : cost;
}

const MEGABIT = 1_000_000;

/**
 * Whole Mbit/s, rounded down (but never to nothing), since bandwidth that isn't there must not be promised;
 * or what is written, while the figure is within `tolerance` (a share) of it.
 */
export function stickyBandwidth(written: number | null, bitsPerSecond: number, tolerance: number): number {
  if (written !== null && Math.abs(bitsPerSecond - written) <= tolerance * written) return written;
  return bitsPerSecond < MEGABIT ? Math.floor(bitsPerSecond) : Math.floor(bitsPerSecond / MEGABIT) * MEGABIT;
}
