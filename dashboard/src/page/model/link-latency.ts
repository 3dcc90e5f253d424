import { costBetween, findPair, type ClusterView } from "./cluster-view.ts";

/** Milliseconds. Unknown is NaN, no answer is Infinity. */
export interface LinkLatency {
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** Half the 90 % interval of the median. */
  readonly errorMs: number;
}

export type LatencyBetween = (source: string, target: string) => LinkLatency;

const SAME: LinkLatency = { p50Ms: 0, p95Ms: 0, errorMs: 0 };

/** Returns a lookup by node names. An estimated pair has only a median. */
export function latencyBetween(view: ClusterView): LatencyBetween {
  const rows = new Map(view.nodes.map(({ name }, index) => [name, index]));
  const costs = costBetween(view);
  const { figures } = view.pairs;
  return (source, target) => {
    if (source === target) return SAME;
    const [row, column] = [rows.get(source), rows.get(target)];
    const at = row === undefined || column === undefined ? -1 : findPair(view.pairs, row, column);
    const measuredMs = at < 0 ? Number.NaN : figures.p50[at]!;
    if (Number.isNaN(measuredMs)) {
      const p50Ms = costs(source, target);
      const rest = p50Ms === Number.POSITIVE_INFINITY ? p50Ms : Number.NaN;
      return { p50Ms, p95Ms: rest, errorMs: at < 0 ? Number.NaN : figures.errorMs[at]! };
    }
    return {
      p50Ms: measuredMs,
      p95Ms: p95Of(measuredMs, figures.p90[at]!, figures.p99[at]!),
      errorMs: figures.errorMs[at]!,
    };
  };
}

/** Quantiles of an exponential tail: -ln(1 - q). */
const TAIL = { p50: Math.log(2), p90: Math.log(10), p95: Math.log(20), p99: Math.log(100) } as const;

/** Assumes an exponential tail between p90 and p99, or beyond p90 without a p99. NaN without a p90. */
export function p95Of(p50Ms: number, p90Ms: number, p99Ms: number): number {
  const slope = Number.isNaN(p99Ms)
    ? (p90Ms - p50Ms) / (TAIL.p90 - TAIL.p50)
    : (p99Ms - p90Ms) / (TAIL.p99 - TAIL.p90);
  return p90Ms + slope * (TAIL.p95 - TAIL.p90);
}
