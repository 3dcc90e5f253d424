export interface BenchResult {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly target?: string;
  readonly met?: boolean;
  /** Comparison in the same run. */
  readonly peer?: string;
  /** value / the peer's value, in the same unit. */
  readonly ratio?: number;
}
