// The forecast of a rate: m += 0.4 (r - m); d = 0.6 d + 0.4 |r - m|; it is m + d.

/** What is kept of a rate. */
export interface KnownRate {
  readonly mean: number;
  /** How far it scatters around the mean. */
  readonly deviation: number;
}

const SMOOTHING = 0.4;

/**
 * What is known after another look.
 * @param before null at the first look, of which the deviation is that of counted requests
 * @param perSecond mean of the time since the last look
 * @param seconds for how long requests were counted
 */
export function rateAfter(before: KnownRate | null, perSecond: number, seconds: number): KnownRate {
  if (before === null) return { mean: perSecond, deviation: Math.sqrt(perSecond / seconds) };
  const { mean, deviation } = before;
  return {
    mean: mean + SMOOTHING * (perSecond - mean),
    deviation: (1 - SMOOTHING) * deviation + SMOOTHING * Math.abs(perSecond - mean),
  };
}

/** Requests per second that are expected. */
export function expectedRate({ mean, deviation }: KnownRate): number {
  return mean + deviation;
}
