import type { Method } from "@isochrone/telemetry";
import type { CostQuantile } from "@isochrone/topology/link-errors";

/** How links are valued. */
export interface CostRule {
  /** Methods that placement may pay by, best first. Others are shown without a cost. */
  readonly methods: readonly Method[];
  readonly quantile: CostQuantile;
}
