import type { Method } from "@isochrone/telemetry";

/**
 * What of a link's round-trip times may be its cost. The mean is exact: histograms carry the sum of what they
 * count.
 */
export const COST_QUANTILES = ["p50", "p90", "mean"] as const;

/** How links are valued. */
export interface CostRule {
  /** Methods that placement may pay by, best first. Others are shown without a cost. */
  readonly methods: readonly Method[];
  readonly quantile: (typeof COST_QUANTILES)[number];
}
