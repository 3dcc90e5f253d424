// Works per area: nodes that routing treats alike.
import { routingScopes, type Channel, type ClusterGraph, type RoutingScope } from "@isochrone/topology";

interface Area {
  readonly zone: string | null;
  readonly region: string | null;
}

interface Areas {
  /**
   * The first area holds unknown places and those without zone and region. `at` returns -1 for an unknown
   * node.
   */
  readonly areas: readonly Area[];
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

/** Callers' CPU (millicores) and endpoint counts, by area. */
export interface Occupation {
  readonly caused: Float64Array;
  readonly endpoints: Float64Array;
}

export class AreaLoads {
  /** Index of the narrowest common scope by pair of areas; the number of scopes if there is none. */
  readonly #levels: readonly Uint8Array[];
  readonly #carriedMillicores: number;
  readonly #each: Float64Array;

  /**
   * @param scopes in which a nearer endpoint is preferred, narrowest first; never "node"
   * @param carriedMillicores usable CPU of an endpoint
   */
  constructor(areas: readonly Area[], scopes: readonly RoutingScope[], carriedMillicores: number) {
    this.#carriedMillicores = carriedMillicores;
    this.#levels = areas.map((from) => Uint8Array.from(areas, (to) => levelOf(scopes, from, to)));
    this.#each = new Float64Array(areas.length);
  }

  /** CPU demand above the endpoints' limits, millicores. */
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
 * Usable CPU of one endpoint, millicores: a fraction of its limit, else of its request, but at least the
 * current mean use. Null: unknown.
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

/** Scopes in which all callers prefer a nearer replica. Null: not all do, or the node comes first. */
export function zoneScopes(channels: readonly Channel[]): readonly RoutingScope[] | null {
  const [first, ...others] = channels.map(routingScopes);
  if (first === undefined || first === null || first.includes("node")) return null;
  return others.every((scopes) => scopes !== null && scopes.join() === first.join()) ? first : null;
}
