import { routingScopes, type ClusterGraph } from "@isochrone/topology";
import type { NearestExchange } from "./neighbours.ts";
import { NearestShares, Proximity } from "./routing.ts";
import type { Place } from "./routing.ts";

/** Costs by node id, milliseconds x bytes per second: finite. */
interface NearestCosts {
  /** Cost of all replicas' calls; one replica pays its even share. */
  readonly calls: Float64Array;
  /** Cost of all callers with one more replica on that node. */
  readonly called: Float64Array;
  /** Value for candidates that the graph lacks. */
  readonly strangerCalls: number;
  readonly strangerCalled: number;
  /** Number of peers with unknown cost, by node id. */
  readonly unknown: Uint16Array;
  readonly unreachable: Uint16Array;
}

export interface StandIns {
  readonly unknownMs: number;
  readonly unreachableMs: number;
}

export function nearestCosts(
  graph: ClusterGraph,
  exchanges: readonly NearestExchange[],
  standIns: StandIns,
): NearestCosts {
  const count = graph.nodes.length;
  const sum = {
    calls: new Float64Array(count),
    called: new Float64Array(count),
    strangerCalls: 0,
    strangerCalled: 0,
    unknown: new Uint16Array(count),
    unreachable: new Uint16Array(count),
  };
  for (const exchange of exchanges) {
    const costs = new Costs(graph, standIns, sum);
    if (exchange.calling) addCalls(sum, graph, exchange, costs);
    else addCalled(sum, graph, exchange, costs);
  }
  return sum;
}

type Sum = { -readonly [K in keyof NearestCosts]: NearestCosts[K] };

function addCalls(sum: Sum, graph: ClusterGraph, exchange: NearestExchange, costs: Costs): void {
  const shares = new NearestShares(exchange, new Proximity(graph, routingScopes(exchange.channel)!));
  const { bytesPerSecond } = exchange;
  for (let id = 0; id < graph.nodes.length; id++) {
    let ms = 0;
    for (const [peer, share] of shares.at({ name: graph.nodes[id]!.name, id }))
      ms += costs.of(id, peer, true) * share;
    sum.calls[id]! += ms * bytesPerSecond;
  }
  sum.strangerCalls += costs.unknownMs * bytesPerSecond;
}

/** The new replica takes over a caller wholly if it is nearer than all others. */
function addCalled(sum: Sum, graph: ClusterGraph, exchange: NearestExchange, costs: Costs): void {
  const proximity = new Proximity(graph, routingScopes(exchange.channel)!);
  const { peers, siblings, bytesPerSecond, replicas } = exchange;
  const each = bytesPerSecond / replicas;
  for (const caller of peers) {
    const rivals = proximity.nearest(caller, siblings);
    const rivalLevel = rivals.length === 0 ? Infinity : proximity.level(caller, rivals[0]!);
    const rivalMs = rivals.reduce((ms, rival) => ms + costs.between(caller, rival), 0);
    const msWith = (level: number, ms: () => number): number => {
      if (level > rivalLevel) return rivalMs / rivals.length;
      return level < rivalLevel ? ms() : (rivalMs + ms()) / (rivals.length + 1);
    };
    for (let id = 0; id < graph.nodes.length; id++) {
      const level = proximity.level(caller, { name: graph.nodes[id]!.name, id });
      sum.called[id]! += each * msWith(level, () => costs.of(id, caller, false));
    }
    sum.strangerCalled += each * msWith(proximity.beyond, () => costs.unknownMs);
  }
}

class Costs {
  readonly unknownMs: number;
  readonly #unreachableMs: number;
  readonly #graph: ClusterGraph;
  readonly #gaps: Pick<NearestCosts, "unknown" | "unreachable">;

  constructor(
    graph: ClusterGraph,
    { unknownMs, unreachableMs }: StandIns,
    gaps: Pick<NearestCosts, "unknown" | "unreachable">,
  ) {
    this.#graph = graph;
    this.unknownMs = unknownMs;
    this.#unreachableMs = unreachableMs;
    this.#gaps = gaps;
  }

  /** Cost in the direction of the exchange, else in the other direction. */
  of(id: number, peer: Place, calling: boolean): number {
    if (peer.id < 0) return this.unknownMs;
    const to = this.#graph.costsTo(peer.id)[id]!;
    const back = calling ? to : this.#graph.costsFrom(peer.id)[id]!;
    const ms = Number.isNaN(back) ? to : back;
    if (Number.isNaN(ms)) {
      this.#gaps.unknown[id]!++;
      return this.unknownMs;
    }
    if (ms !== Infinity) return ms;
    this.#gaps.unreachable[id]!++;
    return this.#unreachableMs;
  }

  between(caller: Place, target: Place): number {
    if (caller.name === target.name) return 0;
    if (caller.id < 0 || target.id < 0) return this.unknownMs;
    const there = this.#graph.costMsById(caller.id, target.id);
    const ms = Number.isNaN(there) ? this.#graph.costMsById(target.id, caller.id) : there;
    if (Number.isNaN(ms)) return this.unknownMs;
    return ms === Infinity ? this.#unreachableMs : ms;
  }
}
