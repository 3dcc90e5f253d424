import type { Method } from "@isochrone/telemetry";
import type { CostQuantile } from "@isochrone/topology/link-errors";

export interface CostRule {
  /** Methods that may give a cost, in order of preference. Links of other methods have no cost. */
  readonly methods: readonly Method[];
  readonly quantile: CostQuantile;
}
