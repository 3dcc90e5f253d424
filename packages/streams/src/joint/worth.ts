/**
 * Total utility: sum over jobs of throughput, its logarithm, and minus the seconds per frame. These are the
 * alpha-fair utilities for alpha 0, 1 and 2 (Mo 2000). The first alone starves slow jobs; the last alone
 * ignores all others. For a job with a promise only throughput counts, since the promise prevents starvation.
 * @param paces frames per second
 * @param loads of the same jobs
 */
export function worthOf(paces: Float64Array, loads: readonly { readonly least: number }[]): number {
  let worth = 0;
  for (let at = 0; at < paces.length; at++) {
    const pace = Math.max(paces[at]!, LEAST_PACE);
    worth += loads[at]!.least > 0 ? pace : pace + Math.log(pace) - 1 / pace;
  }
  return worth;
}

/** Lower bound of rates, frames/s, so that a stopped job does not dominate. */
const LEAST_PACE = 1e-3;
