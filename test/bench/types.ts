/** One measured number. Every `*.bench.ts` exports `run(): Promise<BenchResult[]>`. */
export interface BenchResult {
  /** Measured quantity, e.g. "distribution.record". */
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Limit, e.g. "<= 40 ns". */
  readonly target?: string;
  readonly met?: boolean;
  /** Comparison in the same run. */
  readonly peer?: string;
  /** value / the peer's value, in the same unit. */
  readonly ratio?: number;
}
