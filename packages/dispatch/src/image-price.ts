/** Expected useful life of a replica. */
const HORIZON_SECONDS = 300;
const PRICE_PER_MB = 0.1;

/**
 * @param perSecond additional requests/s in time
 * @param imageMb null if unknown
 */
export function isWorthItsImage(
  perSecond: number,
  imageMb: number | null,
  pricePerMb: number = PRICE_PER_MB,
): boolean {
  return perSecond * HORIZON_SECONDS >= pricePerMb * (imageMb ?? 0);
}
