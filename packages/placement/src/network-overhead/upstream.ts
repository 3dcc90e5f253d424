// The plugin's own arithmetic, votes and costs in its order of tests. It works them out per node, placed pod
// and dependency; here once per area, because nodes of one area differ only where a placed pod stands on the
// node itself. Source: KEP-260's code, pkg/networkaware/networkoverhead/networkoverhead.go.
import type { AreaCostTable } from "./area-costs.ts";

/** What an entry costs that is missing, and a pod on a node with neither label (its MaxCost). */
const MAX_COST = 100;
/** Between two nodes of one zone (its SameZone); on one node it is 0. */
const SAME_ZONE = 1;

/** A placed pod of a dependency; one that two dependencies name is two of them. */
export interface UpstreamPair {
  /** Id of the node that it stands on. */
  readonly node: number;
  /** The dependency's maxNetworkCost; unset is 0. */
  readonly maxNetworkCost: number;
}

/** Figures by place: areas first, then each node that holds a pod of a dependency. */
export interface UpstreamTally {
  /** By node id. */
  readonly placeOf: Int32Array;
  /** Of nodes that the table doesn't know: they have no labels. */
  readonly stranger: number;
  /** By place. */
  readonly cost: Float64Array;
  readonly satisfied: Int32Array;
  readonly violated: Int32Array;
}

/** Votes and accumulated costs of all nodes for one pod. */
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

/** `times` pods in one area, of dependencies with one limit. */
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
    // This test comes before that of equal labels: no labels are not equal ones.
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
      // Missing costs most and votes for nothing.
      cost[from]! += MAX_COST * times;
      continue;
    }
    cost[from]! += found * times;
    if (from === area || found <= limit) satisfied[from]! += times;
    else violated[from]! += times;
  }
}

/** The node that holds `own` of the pods: for it they are satisfied and free. */
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

/** The words of the plugin's Filter. */
export function rejection(node: string, satisfied: number, violated: number): string {
  return `Node ${node} does not meet several network requirements from Workload dependencies: Satisfied: ${satisfied} Violated: ${violated}`;
}

/**
 * The plugin's NormalizeScore over these costs, whole numbers of 0 to 100; all 0 when nothing costs anything.
 */
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
