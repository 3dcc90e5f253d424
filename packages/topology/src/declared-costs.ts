// Costs that somebody declared between zones and regions, from a NetworkTopology (KEP-260) to what a graph looks up.
import type { DeclaredAreaCosts } from "./cost.ts";
import type { DeclaredCosts } from "./schema.ts";

/** What of an object can't be read. */
export interface DeclarationFault {
  readonly path: readonly (string | number)[];
  readonly rule: string;
  readonly value: unknown;
}

export interface ReadNetworkTopology {
  /** Costs that make sense; null: the object has no weights of that name. */
  readonly costs: Pick<DeclaredCosts, "zones" | "regions"> | null;
  /** What was left out. */
  readonly faults: readonly DeclarationFault[];
}

type DeclaredPairs = DeclaredCosts["zones"];
type Path = readonly (string | number)[];
type Fields = Readonly<Record<string, unknown>>;

/** Segments are known to the resource, and not to the plugin. */
const AREAS = { "topology.kubernetes.io/zone": "zones", "topology.kubernetes.io/region": "regions" } as const;

/**
 * The costs of a NetworkTopology (networktopology.diktyo.x-k8s.io/v1alpha1, fields as upstream's schema has them).
 * @param weights name of the weights; undefined: `UserDefined`, else the first
 */
export function readNetworkTopology(object: unknown, weights?: string): ReadNetworkTopology {
  const all = listOf(fieldsOf(fieldsOf(object)["spec"])["weights"]).map(fieldsOf);
  const named = all.findIndex(({ name }) => name === (weights ?? "UserDefined"));
  const chosen = named < 0 && weights === undefined ? 0 : named;
  if (all[chosen] === undefined) return { costs: null, faults: [] };
  const zones: DeclaredPairs = [];
  const regions: DeclaredPairs = [];
  const costs = { zones, regions };
  const faults: DeclarationFault[] = [];
  for (const [index, entry] of listOf(all[chosen]["topologyList"]).entries()) {
    const { topologyKey, originList } = fieldsOf(entry);
    const area = AREAS[topologyKey as keyof typeof AREAS];
    if (area === undefined) continue;
    const path = ["spec", "weights", chosen, "topologyList", index, "originList"];
    readOrigins(path, originList, costs[area], faults);
  }
  return { costs, faults };
}

function readOrigins(path: Path, origins: unknown, pairs: DeclaredPairs, faults: DeclarationFault[]): void {
  for (const [row, entry] of listOf(origins).entries()) {
    const { origin: from, costList } = fieldsOf(entry);
    if (!isName(from)) {
      faults.push({ path: [...path, row, "origin"], rule: "must be text", value: from });
      continue;
    }
    for (const [column, costEntry] of listOf(costList).entries()) {
      const { destination: to, networkCost: cost } = fieldsOf(costEntry);
      const at = [...path, row, "costList", column];
      if (!isName(to)) faults.push({ path: [...at, "destination"], rule: "must be text", value: to });
      else if (typeof cost !== "number" || !(cost >= 0 && cost < Infinity))
        faults.push({ path: [...at, "networkCost"], rule: "must be a number of at least 0", value: cost });
      else pairs.push({ from, to, cost });
    }
  }
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

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
