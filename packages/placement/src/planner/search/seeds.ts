import type { Draw } from "@isochrone/primitives";
import type { PlanState } from "./plan-state.ts";
import { shuffle } from "./draws.ts";

const SAMPLE = 24;
const TAKEN = 4;
const NEAR = 32;

/** Returns nodes to gather pods around, sorted by the mean distance to enough room for all pods. */
export function seedNodes(state: PlanState, pods: readonly number[], draw: Draw): number[] {
  const first = pods[0]!;
  const candidates = [...state.problem.nodes.keys()].filter((node) => state.admits(first, node, false));
  const sample = stratified(state, candidates, draw);
  const needs = needOf(state, pods);
  const rated = sample.map((node) => ({ node, ms: meanDistance(state, node, needs) }));
  rated.sort((a, b) => a.ms - b.ms);
  return rated.slice(0, TAKEN).map(({ node }) => node);
}

function stratified(state: PlanState, candidates: number[], draw: Draw): number[] {
  shuffle(candidates, draw);
  const byZone = new Map<string | null, number[]>();
  for (const node of candidates) {
    const { zone } = state.problem.nodes[node]!;
    const nodes = byZone.get(zone);
    if (nodes === undefined) byZone.set(zone, [node]);
    else nodes.push(node);
  }
  const sample: number[] = [];
  for (let row = 0; sample.length < Math.min(SAMPLE, candidates.length); row++) {
    for (const nodes of byZone.values())
      if (row < nodes.length && sample.length < SAMPLE) sample.push(nodes[row]!);
  }
  return sample;
}

function needOf(state: PlanState, pods: readonly number[]): Float64Array {
  const need = new Float64Array(state.problem.resources.length);
  for (const pod of pods)
    for (const [resource, amount] of state.problem.pods[pod]!.demand.entries()) need[resource]! += amount;
  return need;
}

function meanDistance(state: PlanState, node: number, need: Float64Array): number {
  const to = state.field.to(node);
  const from = state.field.from(node);
  const distance = to.map((ms, other) => (ms + from[other]!) / 2);
  const sum = distanceOver(state, nearestOf(distance, NEAR), distance, need);
  if (sum !== Infinity || distance.length <= NEAR) return sum;
  const all = Int32Array.from(distance.keys()).sort((a, b) => distance[a]! - distance[b]! || a - b);
  return distanceOver(state, all, distance, need);
}

/**
 * Returns the mean distance to enough room. Infinity: these nodes lack room.
 * @param nearest nearest nodes first
 */
function distanceOver(
  state: PlanState,
  nearest: Iterable<number>,
  distance: Float64Array,
  need: Float64Array,
): number {
  let missing = 1;
  let sum = 0;
  for (const other of nearest) {
    const share = Math.min(missing, roomShare(state.problem.nodes[other]!.free, need));
    sum += share * distance[other]!;
    missing -= share;
    if (missing <= 0) break;
  }
  return missing <= 0 ? sum : Infinity;
}

function nearestOf(distance: Float64Array, count: number): number[] {
  const found: number[] = [];
  for (let node = 0; node < distance.length; node++) {
    if (found.length === count && distance[node]! >= distance[found[count - 1]!]!) continue;
    let place = found.length;
    while (place > 0 && distance[found[place - 1]!]! > distance[node]!) place--;
    found.splice(place, 0, node);
    if (found.length > count) found.pop();
  }
  return found;
}

function roomShare(free: Float64Array, need: Float64Array): number {
  let share = 1;
  for (let resource = 0; resource < need.length; resource++)
    if (need[resource]! > 0) share = Math.min(share, Math.max(0, free[resource]!) / need[resource]!);
  return share;
}
