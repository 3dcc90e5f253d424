// Numbers from outside, made fit for sums and graphs. One rule for all of them: finite, from 0 to a bound
// that no real quantity reaches.

/**
 * Amounts of resources in their base unit (cores, millicores, bytes, bits per second): up to here integers
 * are exact.
 */
const MAX_AMOUNT = Number.MAX_SAFE_INTEGER;
/**
 * Figures of a graph in any unit. Sums of a million of them, and their products with a latency, are finite.
 */
export const MAX_FIGURE = 1e18;

/** True for a number from 0 to `max`. */
export function isFigure(value: number, max: number = MAX_FIGURE): boolean {
  return value >= 0 && value <= max;
}

/** The number, with -0 as 0; null when it is none that a graph may hold. */
export function figureOrNull(value: number | null, max: number = MAX_FIGURE): number | null {
  return value !== null && isFigure(value, max) ? value + 0 : null;
}

/** The sum of two amounts, at most MAX_AMOUNT; what is unknown, or no amount, adds nothing. */
export function addedAmount(sum: number | null, amount: number | null): number | null {
  if (amount === null || !isFigure(amount)) return sum;
  return Math.min(MAX_AMOUNT, (sum ?? 0) + amount);
}
