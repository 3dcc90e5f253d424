import type { ClusterGraph, RoutingScope } from "@isochrone/topology";

export interface Place {
  readonly name: string;
  /** Id in the cluster graph; -1 if it lacks the node. */
  readonly id: number;
}

/** Routing distance between places: nodes of one level are equivalent. */
export class Proximity {
  readonly #scopes: readonly RoutingScope[];
  readonly #areas: Areas;

  constructor(graph: ClusterGraph, scopes: readonly RoutingScope[]) {
    this.#scopes = scopes;
    this.#areas = areasOf(graph);
  }

  get beyond(): number {
    return this.#scopes.length;
  }

  /** Index of the narrowest common scope. */
  level(a: Place, b: Place): number {
    for (let at = 0; at < this.#scopes.length; at++) if (this.#share(this.#scopes[at]!, a, b)) return at;
    return this.beyond;
  }

  /** Each place of the lowest level gets an even share of the traffic. */
  nearest<P extends Place>(from: Place, places: readonly P[]): readonly P[] {
    let best = Infinity;
    let found: P[] = [];
    for (const place of places) {
      const level = this.level(from, place);
      if (level > best) continue;
      if (level < best) found = [];
      best = level;
      found.push(place);
    }
    return found;
  }

  /** Equal for places that are equidistant from all places on other nodes. */
  areaOf({ id }: Place): number {
    return id < 0 ? -1 : this.#areas.both[id]!;
  }

  #share(scope: RoutingScope, a: Place, b: Place): boolean {
    if (scope === "node") return a.id === b.id && (a.id >= 0 || a.name === b.name);
    if (a.id < 0 || b.id < 0) return false;
    const areas = this.#areas[scope];
    return areas[a.id]! >= 0 && areas[a.id] === areas[b.id];
  }
}

/** Numbers of zone, region and their pair, by node id; -1: none. */
interface Areas {
  readonly zone: Int32Array;
  readonly region: Int32Array;
  readonly both: Int32Array;
}

const areasByGraph = new WeakMap<ClusterGraph, Areas>();

function areasOf(graph: ClusterGraph): Areas {
  let areas = areasByGraph.get(graph);
  if (areas === undefined) {
    areas = {
      zone: numbered(graph.nodes.map(({ zone }) => zone)),
      region: numbered(graph.nodes.map(({ region }) => region)),
      both: numbered(graph.nodes.map(({ zone, region }) => JSON.stringify([zone, region]))),
    };
    areasByGraph.set(graph, areas);
  }
  return areas;
}

function numbered(names: readonly (string | null)[]): Int32Array {
  const numbers = new Map<string, number>();
  return Int32Array.from(names, (name) => {
    if (name === null) return -1;
    let number = numbers.get(name);
    if (number === undefined) numbers.set(name, (number = numbers.size));
    return number;
  });
}

/** Both ends of a nearest-routed channel, seen from the pod to be placed. */
export interface NearestEnds {
  readonly calling: boolean;
  readonly peers: readonly Place[];
  /** Number of replicas at the other end, placed or not. */
  readonly replicas: number;
  readonly siblings: readonly Place[];
}

/** Peers of a pod, and the fraction of the initiating workload's traffic. */
export type Shares = readonly (readonly [peer: Place, share: number])[];

export class NearestShares {
  readonly #ends: NearestEnds;
  readonly #proximity: Proximity;
  readonly #occupied: ReadonlySet<string>;
  readonly #byArea = new Map<number, Shares>();

  constructor(ends: NearestEnds, proximity: Proximity) {
    this.#ends = ends;
    this.#proximity = proximity;
    this.#occupied = new Set([...ends.peers, ...ends.siblings].map(({ name }) => name));
  }

  at(candidate: Place): Shares {
    if (this.#occupied.has(candidate.name)) return this.#sharesAt(candidate);
    const area = this.#proximity.areaOf(candidate);
    let shares = this.#byArea.get(area);
    if (shares === undefined) this.#byArea.set(area, (shares = this.#sharesAt(candidate)));
    return shares;
  }

  #sharesAt(candidate: Place): Shares {
    const { calling, peers, siblings, replicas } = this.#ends;
    if (calling) {
      const chosen = this.#proximity.nearest(candidate, peers);
      return chosen.map((peer) => [peer, 1 / chosen.length] as const);
    }
    return peers.flatMap((caller) => {
      const rivals = this.#proximity.nearest(caller, siblings);
      const rivalLevel = rivals.length === 0 ? Infinity : this.#proximity.level(caller, rivals[0]!);
      const level = this.#proximity.level(caller, candidate);
      if (level > rivalLevel) return [];
      return [[caller, 1 / replicas / (level < rivalLevel ? 1 : rivals.length + 1)] as const];
    });
  }
}
