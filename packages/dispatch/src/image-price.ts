// What the image of a replica costs, in requests in time.

/** How long a replica is expected to be of use. */
const HORIZON_SECONDS = 300;
/** Requests in time that a MB of image must bring. */
const PRICE_PER_MB = 0.1;

/**
 * Whether a replica is worth pulling its image for.
 * @param perSecond requests more in time
 * @param imageMb null: its size isn't known
 */
export function isWorthItsImage(
  perSecond: number,
  imageMb: number | null,
  pricePerMb: number = PRICE_PER_MB,
): boolean {
  return perSecond * HORIZON_SECONDS >= pricePerMb * (imageMb ?? 0);
}
