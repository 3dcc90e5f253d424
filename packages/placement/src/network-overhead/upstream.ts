// The plugin's votes and costs (networkoverhead.go), computed per area: nodes of an area differ only if they
// host a placed pod.
import type { AreaCostTable } from "./area-costs.ts";

/** The plugin's MaxCost: of a missing entry, and of a pod on an unlabelled node. */
const MAX_COST = 100;
/** The plugin's SameZone: between two nodes of one zone. On one node the cost is 0. */
const SAME_ZONE = 1;

/** A placed pod of a dependency. A pod that two dependencies name counts twice. */
export interface UpstreamPair {
  readonly node: number;
  readonly maxNetworkCost: number;
}

/** Figures by place: first the areas, then each node that hosts a dependency's pod. */
export interface UpstreamTally {
  readonly placeOf: Int32Array;
  readonly stranger: number;
  readonly cost: Float64Array;
  readonly satisfied: Int32Array;
  readonly violated: Int32Array;
}

export function tally(table: AreaCostTable, pairs: readonly UpstreamPair[]): UpstreamTally {
  const { areas } = table;
  const hosts = groupBy(pairs, ({ node }) => node);
  const places = areas.count + hosts.size;
  const sums = {
    placeOf: areas.areaOf.slice(),
    stranger: areas.unlabelled,
    cost: new Float64Array(places),
    satisfied: new Int32Array(places),
    violated: new Int32Array(places),
  };
  for (const [area, inArea] of groupBy(pairs, ({ node }) => areas.areaOf[node]!)) {
    for (const [limit, equal] of groupBy(inArea, ({ maxNetworkCost }) => maxNetworkCost))
      addGroup(sums, table, area, limit, equal.length);
  }
  let place = areas.count;
  for (const [node, own] of hosts)
    addHost(sums, areas.areaOf[node]!, areas.unlabelled, node, place++, own.length);
  return sums;
}

/** Adds `times` pods in one area that have the same limit. */
function addGroup(
  sums: UpstreamTally,
  table: AreaCostTable,
  area: number,
  limit: number,
  times: number,
): void {
  const { cost, satisfied, violated } = sums;
  const { count, unlabelled } = table.areas;
  if (area === unlabelled) {
    // Checked before equal labels: two unlabelled areas are not equal.
    for (let from = 0; from < count; from++) {
      cost[from]! += MAX_COST * times;
      violated[from]! += times;
    }
    return;
  }
  const column = table.to(area);
  for (let from = 0; from < count; from++) {
    const found = from === area ? SAME_ZONE : column[from]!;
    if (Number.isNaN(found)) {
      cost[from]! += MAX_COST * times;
      continue;
    }
    cost[from]! += found * times;
    if (from === area || found <= limit) satisfied[from]! += times;
    else violated[from]! += times;
  }
}

/** On the node that hosts `own` of the pods, these are satisfied at no cost. */
function addHost(
  { placeOf, cost, satisfied, violated }: UpstreamTally,
  area: number,
  unlabelled: number,
  node: number,
  place: number,
  own: number,
): void {
  placeOf[node] = place;
  cost[place] = cost[area]! - own * (area === unlabelled ? MAX_COST : SAME_ZONE);
  satisfied[place] = satisfied[area]! + (area === unlabelled ? own : 0);
  violated[place] = violated[area]! - (area === unlabelled ? own : 0);
}

export function rejection(node: string, satisfied: number, violated: number): string {
  return `Node ${node} does not meet several network requirements from Workload dependencies: Satisfied: ${satisfied} Violated: ${violated}`;
}

/** The plugin's NormalizeScore: integers from 0 to 100; all 0 if all costs are 0. */
export function normalise(cost: Float64Array, score: Float64Array): void {
  let least = Infinity;
  let most = -Infinity;
  for (let row = 0; row < cost.length; row++) {
    const value = cost[row]!;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (least === 0 && most === 0) {
    score.fill(0);
    return;
  }
  const range = most - least;
  for (let row = 0; row < cost.length; row++)
    score[row] = range > 0 ? 100 - Math.trunc((100 * (cost[row]! - least)) / range) : 100;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => number): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
