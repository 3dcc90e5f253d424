import type { RoutingScope } from "@isochrone/topology";
import type { CostField } from "./cost-field.ts";

/** Index of the narrowest scope that contains both locations; the number of scopes if none does. */
export function nearness(field: CostField, scopes: readonly RoutingScope[], a: number, b: number): number {
  for (let level = 0; level < scopes.length; level++) if (share(field, scopes[level]!, a, b)) return level;
  return scopes.length;
}

function share(field: CostField, scope: RoutingScope, a: number, b: number): boolean {
  if (scope === "node") return a === b;
  const area = scope === "zone" ? field.zone(a) : field.region(a);
  return area !== null && area === (scope === "zone" ? field.zone(b) : field.region(b));
}
