export interface BackoffGrowth {
  readonly initialMs: number;
  readonly maxMs: number;
  readonly factor: number;
}

/** Delay after `failures` failures (1 after the first), without jitter. */
export function backoffMs({ initialMs, maxMs, factor }: BackoffGrowth, failures: number): number {
  // Bounds the exponent: the power would overflow after hours of failures.
  return Math.min(maxMs, initialMs * factor ** Math.min(failures - 1, 1000));
}
