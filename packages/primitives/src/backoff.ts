/** How pauses between tries grow, apart from jitter. */
export interface BackoffGrowth {
  /** Delay after the first failure. */
  readonly initialMs: number;
  /** No delay is longer. */
  readonly maxMs: number;
  /** Growth per failure, at least 1. */
  readonly factor: number;
}

/** How long to wait after `failures` failures (1 after the first), without jitter. */
export function backoffMs({ initialMs, maxMs, factor }: BackoffGrowth, failures: number): number {
  // The exponent is bounded, or the power would be Infinity after some hours of failures.
  return Math.min(maxMs, initialMs * factor ** Math.min(failures - 1, 1000));
}
