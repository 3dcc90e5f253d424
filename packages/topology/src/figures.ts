// Bounds on external numbers, so that sums and products stay finite.

/** Maximum resource amount in base units: integers are exact up to here. */
const MAX_AMOUNT = Number.MAX_SAFE_INTEGER;
/** Bound on any figure: sums of a million, and products with a latency, stay finite. */
export const MAX_FIGURE = 1e18;

export function isFigure(value: number, max: number = MAX_FIGURE): boolean {
  return value >= 0 && value <= max;
}

/** Returns a valid figure with -0 as 0, else null. */
export function figureOrNull(value: number | null, max: number = MAX_FIGURE): number | null {
  return value !== null && isFigure(value, max) ? value + 0 : null;
}

export function addedAmount(sum: number | null, amount: number | null): number | null {
  if (amount === null || !isFigure(amount)) return sum;
  return Math.min(MAX_AMOUNT, (sum ?? 0) + amount);
}
