// The weights of a NetworkTopology (networktopology.diktyo.x-k8s.io/v1alpha1, fields as upstream's schema has them; KEP-260's text names some
// otherwise). An object of anybody's making: what of it can't be read is named and left out.

/** In the order in which an object lists them, with the labels that name them there. */
export const NETWORK_TOPOLOGY_KEYS = Object.freeze({
  region: "topology.kubernetes.io/region",
  zone: "topology.kubernetes.io/zone",
  segment: "topology.kubernetes.io/segment",
});

export type NetworkTopologyArea = keyof typeof NETWORK_TOPOLOGY_KEYS;

/** One line of a costList. */
export interface NetworkTopologyEntry {
  readonly area: NetworkTopologyArea;
  readonly origin: string;
  readonly destination: string;
  /** Finite, at least 0; the unit is the writer's. */
  readonly networkCost: number;
  /** Quantities as they are written; undefined: none is. */
  readonly bandwidthCapacity: unknown;
  readonly bandwidthAllocated: unknown;
}

/** What of an object can't be read. */
export interface DeclarationFault {
  readonly path: readonly (string | number)[];
  readonly rule: string;
  readonly value: unknown;
}

export interface NetworkTopologyWeights {
  /** Position in spec.weights. */
  readonly index: number;
  /** In the order of the object; a pair that is there twice has its last cost. */
  readonly entries: readonly NetworkTopologyEntry[];
  readonly faults: readonly (DeclarationFault & { readonly area: NetworkTopologyArea })[];
}

type Path = readonly (string | number)[];
type Fields = Readonly<Record<string, unknown>>;

/**
 * Weights of an object; null: it has none of that name.
 * @param name undefined: `UserDefined`, else the first
 */
export function networkTopologyWeights(object: unknown, name?: string): NetworkTopologyWeights | null {
  const all = listOf(fieldsOf(fieldsOf(object)["spec"])["weights"]).map(fieldsOf);
  const named = all.findIndex((weights) => weights["name"] === (name ?? "UserDefined"));
  const index = named < 0 && name === undefined ? 0 : named;
  const chosen = all[index];
  return chosen === undefined ? null : new WeightsReader(index).read(chosen["topologyList"]);
}

class WeightsReader {
  readonly #index: number;
  readonly #entries: NetworkTopologyEntry[] = [];
  readonly #faults: (DeclarationFault & { readonly area: NetworkTopologyArea })[] = [];

  constructor(index: number) {
    this.#index = index;
  }

  read(topologyList: unknown): NetworkTopologyWeights {
    for (const [at, entry] of listOf(topologyList).entries()) {
      const { topologyKey, originList } = fieldsOf(entry);
      const area = AREAS.find((one) => NETWORK_TOPOLOGY_KEYS[one] === topologyKey);
      if (area === undefined) continue;
      this.#readOrigins(area, ["spec", "weights", this.#index, "topologyList", at, "originList"], originList);
    }
    return { index: this.#index, entries: this.#entries, faults: this.#faults };
  }

  #readOrigins(area: NetworkTopologyArea, path: Path, origins: unknown): void {
    for (const [row, entry] of listOf(origins).entries()) {
      const { origin, costList } = fieldsOf(entry);
      if (!isName(origin)) {
        this.#faults.push({ area, path: [...path, row, "origin"], rule: "must be text", value: origin });
        continue;
      }
      for (const [column, cost] of listOf(costList).entries())
        this.#readCost(area, origin, [...path, row, "costList", column], fieldsOf(cost));
    }
  }

  #readCost(area: NetworkTopologyArea, origin: string, path: Path, cost: Fields): void {
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

const AREAS = Object.keys(NETWORK_TOPOLOGY_KEYS) as NetworkTopologyArea[];

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
