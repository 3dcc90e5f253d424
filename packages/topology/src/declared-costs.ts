import type { DeclaredAreaCosts } from "./cost.ts";
import { networkTopologyWeights } from "./network-topology.ts";
import type { DeclarationFault, NetworkTopologyArea } from "./network-topology.ts";
import type { DeclaredCosts } from "./schema.ts";

interface ReadNetworkTopology {
  /** Valid costs of the object. Null: it has no weights of that name. */
  readonly costs: Pick<DeclaredCosts, "zones" | "regions"> | null;
  readonly faults: readonly DeclarationFault[];
}

type DeclaredPairs = DeclaredCosts["zones"];

/**
 * Reads costs between zones and between regions; the plugin ignores segments.
 * @param weights name; undefined: `UserDefined`, else the first
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

/** Look-up tables of declared costs. The last of duplicate pairs wins. */
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
