/**
 * What the paces of all jobs are worth together: throughput, its logarithm and less the seconds per frame of
 * each, summed. These are the alpha-fair utilities for alpha 0, 1 and 2 (Mo 2000). The first alone starves
 * slow jobs, the last alone looks at nothing but them.
 * @param paces frames per second
 */
export function worthOf(paces: Float64Array): number {
  let worth = 0;
  for (const each of paces) {
    const pace = Math.max(each, LEAST_PACE);
    worth += pace + Math.log(pace) - 1 / pace;
  }
  return worth;
}

/** Frames per second; slower jobs count as this, so that a standing one doesn't outweigh all others. */
const LEAST_PACE = 1e-3;
