// How far endpoints are above what they may use, when callers go to the nearest, by areas: nodes that are
// alike to routing.
import { routingScopes, type Channel, type ClusterGraph, type RoutingScope } from "@isochrone/topology";

interface Area {
  readonly zone: string | null;
  readonly region: string | null;
}

/** The areas of a cluster's nodes. */
interface Areas {
  /** The first is that of places that have neither zone nor region, or that nobody knows. */
  readonly areas: readonly Area[];
  /** Of a node, by id; -1: nobody knows it. */
  readonly at: (id: number) => number;
}

const areasByGraph = new WeakMap<ClusterGraph, Areas>();

export function areasOf(graph: ClusterGraph): Areas {
  let known = areasByGraph.get(graph);
  if (known === undefined) areasByGraph.set(graph, (known = numbered(graph.nodes)));
  return known;
}

function numbered(nodes: readonly Area[]): Areas {
  const areas: Area[] = [{ zone: null, region: null }];
  const numbers = new Map([[JSON.stringify([null, null]), 0]]);
  const ids = Int32Array.from(nodes, ({ zone, region }) => {
    const key = JSON.stringify([zone, region]);
    let number = numbers.get(key);
    if (number === undefined) {
      numbers.set(key, (number = areas.length));
      areas.push({ zone, region });
    }
    return number;
  });
  return { areas, at: (id) => ids[id] ?? 0 };
}

/** Where callers and endpoints are; by area. */
export interface Occupation {
  /** CPU that the callers cause, millicores. */
  readonly caused: Float64Array;
  /** Endpoints. */
  readonly endpoints: Float64Array;
}

export class AreaLoads {
  /** Position of the narrowest scope that holds both areas, by pair; the number of scopes when none does. */
  readonly #levels: readonly Uint8Array[];
  readonly #carriedMillicores: number;
  readonly #each: Float64Array;

  /**
   * @param scopes where a nearer endpoint is preferred, the narrowest first; none may be the node
   * @param carriedMillicores that an endpoint may use
   */
  constructor(areas: readonly Area[], scopes: readonly RoutingScope[], carriedMillicores: number) {
    this.#carriedMillicores = carriedMillicores;
    this.#levels = areas.map((from) => Uint8Array.from(areas, (to) => levelOf(scopes, from, to)));
    this.#each = new Float64Array(areas.length);
  }

  /** Of all endpoints together, millicores; 0 without any. */
  excess({ caused, endpoints }: Occupation): number {
    const each = this.#each.fill(0);
    for (let from = 0; from < each.length; from++) {
      if (!(caused[from]! > 0)) continue;
      const levels = this.#levels[from]!;
      let [nearest, count] = [Infinity, 0];
      for (let to = 0; to < each.length; to++) {
        if (endpoints[to] === 0 || levels[to]! > nearest) continue;
        if (levels[to]! < nearest) [nearest, count] = [levels[to]!, 0];
        count += endpoints[to]!;
      }
      for (let to = 0; to < each.length; to++)
        if (endpoints[to]! > 0 && levels[to] === nearest) each[to]! += caused[from]! / count;
    }
    let sum = 0;
    for (let area = 0; area < each.length; area++)
      sum += endpoints[area]! * Math.max(0, each[area]! - this.#carriedMillicores);
    return sum;
  }
}

function levelOf(scopes: readonly RoutingScope[], a: Area, b: Area): number {
  for (const [level, scope] of scopes.entries())
    if (scope !== "node" && a[scope] !== null && a[scope] === b[scope]) return level;
  return scopes.length;
}

/**
 * What one endpoint may use, millicores: the share of its limit, else of its request; what endpoints use on
 * average where that is more, so that then those with more than their part count. null: nobody knows.
 */
export function carriedMillicores(
  cpuMillicores: number | null | undefined,
  useMillicores: number | null,
  maxCpuUse: number,
): number | null {
  if (cpuMillicores === null || cpuMillicores === undefined || useMillicores === null || !(maxCpuUse > 0))
    return null;
  return Math.max(maxCpuUse * cpuMillicores, useMillicores);
}

/** Where all callers prefer a nearer replica; null: not all do, or on their own node first. */
export function zoneScopes(channels: readonly Channel[]): readonly RoutingScope[] | null {
  const [first, ...others] = channels.map(routingScopes);
  if (first === undefined || first === null || first.includes("node")) return null;
  return others.every((scopes) => scopes !== null && scopes.join() === first.join()) ? first : null;
}
