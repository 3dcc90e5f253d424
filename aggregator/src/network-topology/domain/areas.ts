/** Areas of a node; null: no such label. */
export interface AreaNode {
  readonly region: string | null;
  readonly zone: string | null;
  readonly segment: string | null;
}

export const AREA_KINDS = ["region", "zone", "segment"] as const;
export type AreaKind = (typeof AREA_KINDS)[number];

export interface AreaPair {
  readonly kind: AreaKind;
  readonly origin: string;
  readonly destination: string;
}

/** Map key; label values contain no line breaks. */
export function areaKey({ kind, origin, destination }: AreaPair): string {
  return `${kind}\n${origin}\n${destination}`;
}

export function areaPairOf(key: string): AreaPair {
  const [kind, origin = "", destination = ""] = key.split("\n");
  return { kind: kind as AreaKind, origin, destination };
}

export function reversed({ kind, origin, destination }: AreaPair): AreaPair {
  return { kind, origin: destination, destination: origin };
}

/**
 * Area pairs between two nodes, as the scheduler plugin looks costs up: regions if they differ, else zones
 * (unique within a region only). Also segments if they differ, which the plugin never reads.
 */
export function areaPairsBetween(a: AreaNode, b: AreaNode): AreaPair[] {
  const pairs: AreaPair[] = [];
  const add = (kind: AreaKind, origin: string | null, destination: string | null): void => {
    if (origin !== null && destination !== null && origin !== destination)
      pairs.push({ kind, origin, destination });
  };
  if (a.region === b.region) add("zone", a.zone, b.zone);
  else add("region", a.region, b.region);
  add("segment", a.segment, b.segment);
  return pairs;
}

const NONE: readonly string[] = [];

/** Looks up area pairs between nodes by name. Computed once per pair of places, not per pair of nodes. */
export class AreaIndex {
  readonly #placeByNode = new Map<string, number>();
  readonly #places: AreaNode[] = [];
  readonly #keys: (readonly string[])[] = [];
  /** Cache of the last source, because graphs list links by source. */
  #lastSource = "";
  #lastPlace: number | undefined;

  constructor(nodes: Iterable<AreaNode & { readonly name: string }>) {
    const byText = new Map<string, number>();
    for (const node of nodes) {
      const text = JSON.stringify([node.region, node.zone, node.segment]);
      let place = byText.get(text);
      if (place === undefined) {
        byText.set(text, (place = this.#places.length));
        this.#places.push(node);
      }
      this.#placeByNode.set(node.name, place);
    }
  }

  /** Nodes of one place have the same areas; undefined: unknown node. */
  placeOf(node: string): number | undefined {
    return this.#placeByNode.get(node);
  }

  keysBetween(source: string, target: string): readonly string[] {
    if (source !== this.#lastSource) {
      this.#lastSource = source;
      this.#lastPlace = this.#placeByNode.get(source);
    }
    const from = this.#lastPlace;
    const to = from === undefined ? undefined : this.#placeByNode.get(target);
    return from === undefined || to === undefined ? NONE : this.keysBetweenPlaces(from, to);
  }

  keysBetweenPlaces(from: number, to: number): readonly string[] {
    if (from === to) return NONE;
    const at = from * this.#places.length + to;
    return (this.#keys[at] ??= areaPairsBetween(this.#places[from]!, this.#places[to]!).map(areaKey));
  }
}
