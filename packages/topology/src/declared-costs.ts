// Costs that somebody declared between zones and regions, from a NetworkTopology (KEP-260) to what a graph
// looks up.
import type { DeclaredAreaCosts } from "./cost.ts";
import { networkTopologyWeights } from "./network-topology.ts";
import type { DeclarationFault, NetworkTopologyArea } from "./network-topology.ts";
import type { DeclaredCosts } from "./schema.ts";

interface ReadNetworkTopology {
  /** Costs that make sense; null: the object has no weights of that name. */
  readonly costs: Pick<DeclaredCosts, "zones" | "regions"> | null;
  /** What was left out. */
  readonly faults: readonly DeclarationFault[];
}

type DeclaredPairs = DeclaredCosts["zones"];

/**
 * The costs of a NetworkTopology that are between zones and between regions: segments are known to the
 * resource, and not to the plugin.
 * @param weights name of the weights; undefined: `UserDefined`, else the first
 */
export function readNetworkTopology(object: unknown, weights?: string): ReadNetworkTopology {
  const found = networkTopologyWeights(object, weights);
  if (found === null) return { costs: null, faults: [] };
  const pairsOf = (wanted: NetworkTopologyArea): DeclaredPairs =>
    found.entries
      .filter(({ area }) => area === wanted)
      .map(({ origin: from, destination: to, networkCost: cost }) => ({ from, to, cost }));
  return {
    costs: { zones: pairsOf("zone"), regions: pairsOf("region") },
    faults: found.faults
      .filter(({ area }) => area !== "segment")
      .map(({ path, rule, value }) => ({ path, rule, value })),
  };
}

/** For looking up; a pair that is declared twice has its last cost. */
export function declaredAreaCosts(
  { zones, regions, unitMs = 1 }: Pick<DeclaredCosts, "zones" | "regions"> & { readonly unitMs?: number },
  sameZone: number | null = null,
): DeclaredAreaCosts {
  return { zones: byOrigin(zones), regions: byOrigin(regions), sameZone, unitMs };
}

function byOrigin(pairs: DeclaredPairs): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const rows = new Map<string, Map<string, number>>();
  for (const { from, to, cost } of pairs) {
    let row = rows.get(from);
    if (row === undefined) rows.set(from, (row = new Map()));
    row.set(to, cost);
  }
  return rows;
}
