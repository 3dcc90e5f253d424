import type { SpreadLimits } from "@isochrone/placement";
import type { PlannerConfig } from "./settings.ts";

/** How far replicas are kept apart: of plans and of moves alike, or one would undo what the other does. */
export function spreadLimits({
  hostnameMaxSkew,
  zoneMaxSkew,
  minNodes,
  minZones,
}: Pick<PlannerConfig, "hostnameMaxSkew" | "zoneMaxSkew" | "minNodes" | "minZones">): SpreadLimits {
  const limit = (skew: number): number | null => (skew === 0 ? null : skew);
  return { hostnameMaxSkew: limit(hostnameMaxSkew), zoneMaxSkew: limit(zoneMaxSkew), minNodes, minZones };
}
