// Reads weights of a NetworkTopology (networktopology.diktyo.x-k8s.io/v1alpha1), in upstream's schema or the
// form of KEP-260's text (costList, originCosts, costs). Untrusted: reports and omits unreadable parts.

import { keysOf, looseFields, looseList, type LooseFields } from "@isochrone/primitives";

export const NETWORK_TOPOLOGY_KEYS = Object.freeze({
  region: "topology.kubernetes.io/region",
  zone: "topology.kubernetes.io/zone",
  segment: "topology.kubernetes.io/segment",
});

export type NetworkTopologyArea = keyof typeof NETWORK_TOPOLOGY_KEYS;

interface NetworkTopologyEntry {
  readonly area: NetworkTopologyArea;
  readonly origin: string;
  readonly destination: string;
  /** Cost, finite and non-negative, in the writer's unit. */
  readonly networkCost: number;
  readonly bandwidthCapacity: unknown;
  readonly bandwidthAllocated: unknown;
}

export interface DeclarationFault {
  readonly path: readonly (string | number)[];
  readonly rule: string;
  readonly value: unknown;
}

interface NetworkTopologyWeights {
  readonly index: number;
  /** Entries in order; the last of duplicate pairs wins. */
  readonly entries: readonly NetworkTopologyEntry[];
  readonly faults: readonly (DeclarationFault & { readonly area: NetworkTopologyArea })[];
}

type Path = readonly (string | number)[];

/** Reads weights, or null if there are none. @param name undefined: `UserDefined`, else the first */
export function networkTopologyWeights(object: unknown, name?: string): NetworkTopologyWeights | null {
  const { spec } = looseFields<Record<"spec", unknown>>(object);
  const { weights } = looseFields<Record<"weights", unknown>>(spec);
  const all = looseList<LooseFields & { name: string }>(weights);
  const named = all.findIndex((each) => each.name === (name ?? "UserDefined"));
  const index = named < 0 && name === undefined ? 0 : named;
  const chosen = all[index];
  return chosen === undefined ? null : new WeightsReader(index).read(chosen);
}

/** Names of each list: the schema's, which takes precedence, and KEP-260's. */
const LISTS = {
  topologies: ["topologyList", "costList"],
  origins: ["originList", "originCosts"],
  costs: ["costList", "costs"],
} as const;

function listIn(fields: LooseFields, names: readonly [string, string]): [name: string, list: LooseFields[]] {
  const name = names.find((one) => fields[one] !== undefined) ?? names[0];
  return [name, looseList(fields[name])];
}

class WeightsReader {
  readonly #index: number;
  readonly #entries: NetworkTopologyEntry[] = [];
  readonly #faults: (DeclarationFault & { readonly area: NetworkTopologyArea })[] = [];

  constructor(index: number) {
    this.#index = index;
  }

  read(weights: LooseFields): NetworkTopologyWeights {
    const [name, topologies] = listIn(weights, LISTS.topologies);
    for (const [at, fields] of topologies.entries()) {
      const { topologyKey } = fields;
      const area = AREAS.find((one) => NETWORK_TOPOLOGY_KEYS[one] === topologyKey);
      if (area !== undefined) this.#readOrigins(area, ["spec", "weights", this.#index, name, at], fields);
    }
    return { index: this.#index, entries: this.#entries, faults: this.#faults };
  }

  #readOrigins(area: NetworkTopologyArea, path: Path, topology: LooseFields): void {
    const [name, origins] = listIn(topology, LISTS.origins);
    for (const [row, fields] of origins.entries()) {
      const { origin } = fields;
      if (!isName(origin)) {
        this.#faults.push({
          area,
          path: [...path, name, row, "origin"],
          rule: "must be text",
          value: origin,
        });
        continue;
      }
      const [costsName, costs] = listIn(fields, LISTS.costs);
      for (const [column, cost] of costs.entries())
        this.#readCost(area, origin, [...path, name, row, costsName, column], cost);
    }
  }

  #readCost(area: NetworkTopologyArea, origin: string, path: Path, cost: LooseFields): void {
    const { destination, networkCost, bandwidthCapacity, bandwidthAllocated } = cost;
    const fault = (field: string, rule: string): void => {
      this.#faults.push({ area, path: [...path, field], rule, value: cost[field] });
    };
    if (!isName(destination)) fault("destination", "must be text");
    else if (typeof networkCost !== "number" || !(networkCost >= 0 && networkCost < Infinity))
      fault("networkCost", "must be a number of at least 0");
    else
      this.#entries.push({ area, origin, destination, networkCost, bandwidthCapacity, bandwidthAllocated });
  }
}

const AREAS = keysOf(NETWORK_TOPOLOGY_KEYS);

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
