/**
 * Samples from which a percentile is shown: with fewer, it is one of the largest values by chance.
 * @param share 0 to 1
 */
export function samplesForPercentile(share: number): number {
  if (share > 0.95) return 100;
  return share > 0.5 ? 20 : 1;
}

/** Why a percentile of so few samples isn't shown; null: it is. @param what counts, in the plural */
export function percentileLack(share: number, samples: number, what = "requests"): string | null {
  const least = samplesForPercentile(share);
  if (samples >= least) return null;
  const name = `p${Math.round(share * 100)}`;
  return `${name} is shown from ${least} ${what} on; there ${samples === 1 ? "is 1" : `are ${Math.floor(samples)}`}`;
}
