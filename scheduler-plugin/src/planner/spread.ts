import type { SpreadLimits } from "@isochrone/placement";
import type { PlannerConfig } from "./settings.ts";

/** Shared by plans and moves, or one would undo the other. */
export function spreadLimits({
  hostnameMaxSkew,
  zoneMaxSkew,
  minNodes,
  minZones,
}: Pick<PlannerConfig, "hostnameMaxSkew" | "zoneMaxSkew" | "minNodes" | "minZones">): SpreadLimits {
  const limit = (skew: number): number | null => (skew === 0 ? null : skew);
  return { hostnameMaxSkew: limit(hostnameMaxSkew), zoneMaxSkew: limit(zoneMaxSkew), minNodes, minZones };
}
