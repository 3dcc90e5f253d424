// Rate forecast m + d, with m += 0.4 (r - m) and d = 0.6 d + 0.4 |r - m|.

export interface KnownRate {
  readonly mean: number;
  /** Mean absolute deviation. */
  readonly deviation: number;
}

const SMOOTHING = 0.4;

/**
 * Updates the estimate.
 * @param before null at first, when the deviation is that of counts
 * @param perSecond mean since the last update
 * @param seconds length of the count
 */
export function rateAfter(before: KnownRate | null, perSecond: number, seconds: number): KnownRate {
  if (before === null) return { mean: perSecond, deviation: Math.sqrt(perSecond / seconds) };
  const { mean, deviation } = before;
  return {
    mean: mean + SMOOTHING * (perSecond - mean),
    deviation: (1 - SMOOTHING) * deviation + SMOOTHING * Math.abs(perSecond - mean),
  };
}

export function expectedRate({ mean, deviation }: KnownRate): number {
  return mean + deviation;
}
