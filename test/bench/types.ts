/** One measured number. Every `*.bench.ts` exports `run(): Promise<BenchResult[]>`. */
export interface BenchResult {
  /** What was measured, e.g. "distribution.record". */
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The rule it is held to, e.g. "<= 40 ns". */
  readonly target?: string;
  readonly met?: boolean;
  /** What it is compared with, in the same run. */
  readonly peer?: string;
  /** value / the peer's value, in the same unit. */
  readonly ratio?: number;
}
