/**
 * What the paces of all jobs are worth together: throughput, its logarithm and less the seconds per frame of
 * each, summed. These are the alpha-fair utilities for alpha 0, 1 and 2 (Mo 2000). The first alone starves
 * slow jobs, the last alone looks at nothing but them. Of a job with a promise the throughput alone counts:
 * the promise is what keeps it from starving.
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

/** Frames per second; slower jobs count as this, so that a standing one doesn't outweigh all others. */
const LEAST_PACE = 1e-3;
