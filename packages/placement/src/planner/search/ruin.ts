// Chooses pods to remove and reinsert (Christiaens 2020; Ropke 2006).
import type { Draw } from "@isochrone/primitives";
import type { PodLinks } from "./orders.ts";
import type { PlanState } from "./plan-state.ts";
import { drawIndex, shuffle } from "./draws.ts";

const MAX_PODS = 12;
/** Odds to follow the next heavier link instead of a lighter one. */
const TAKE = 0.7;

/** @param movable pods that may be touched */
export function ruined(state: PlanState, links: PodLinks, movable: readonly number[], draw: Draw): number[] {
  const seed = movable[drawIndex(draw, movable.length)]!;
  const size = 1 + drawIndex(draw, Math.min(MAX_PODS, movable.length));
  const kind = draw();
  const chosen = new Set<number>();
  if (kind < 0.5) neighbours(chosen, seed, size, links, draw);
  else if (kind < 0.65) tenants(chosen, seed, state);
  else if (kind < 0.8) replicas(chosen, seed, state);
  else strangers(chosen, size, movable, draw);
  if (state.unplaced > 0) makeRoom(chosen, state, movable, draw);
  return movable.filter((pod) => chosen.has(pod));
}

/** Blocks of pods per node: the seed's node and those of its closest peers. */
export function ruinedBlocks(
  state: PlanState,
  links: PodLinks,
  movable: readonly number[],
  draw: Draw,
): number[][] {
  const chosen = new Set<number>();
  const size = 1 + drawIndex(draw, Math.min(MAX_PODS, movable.length));
  neighbours(chosen, movable[drawIndex(draw, movable.length)]!, size, links, draw);
  const blocks = new Map<number, number[]>();
  for (const pod of chosen) {
    const node = state.assignment[pod]!;
    if (node >= 0) blocks.set(node, []);
  }
  for (const pod of movable) blocks.get(state.assignment[pod]!)?.push(pod);
  return [...blocks.values()];
}

function neighbours(chosen: Set<number>, seed: number, size: number, links: PodLinks, draw: Draw): void {
  chosen.add(seed);
  const front = [seed];
  while (chosen.size < size && front.length > 0) {
    const at = drawIndex(draw, front.length);
    const next = links[front[at]!]!.find(({ pod }) => !chosen.has(pod) && draw() < TAKE);
    if (next === undefined) front.splice(at, 1);
    else {
      chosen.add(next.pod);
      front.push(next.pod);
    }
  }
}

function tenants(chosen: Set<number>, seed: number, { assignment }: PlanState): void {
  chosen.add(seed);
  for (const [pod, node] of assignment.entries())
    if (node >= 0 && node === assignment[seed] && chosen.size < MAX_PODS) chosen.add(pod);
}

function replicas(chosen: Set<number>, seed: number, { traffic }: PlanState): void {
  chosen.add(seed);
  for (const pod of traffic.groups[traffic.groupOf[seed]!]?.pods ?? [])
    if (chosen.size < MAX_PODS) chosen.add(pod);
}

function strangers(chosen: Set<number>, size: number, movable: readonly number[], draw: Draw): void {
  for (let count = 0; count < size; count++) chosen.add(movable[drawIndex(draw, movable.length)]!);
}

/** Unplaced pods, and pods on nodes that one of these could use. */
function makeRoom(chosen: Set<number>, state: PlanState, movable: readonly number[], draw: Draw): void {
  const { assignment, problem } = state;
  const waiting = movable.filter((pod) => assignment[pod]! < 0);
  for (const pod of waiting) chosen.add(pod);
  if (waiting.length === 0) return;
  const { allowed } = problem.pods[waiting[drawIndex(draw, waiting.length)]!]!;
  const nodes = [...new Set(assignment)].filter((node) => node >= 0 && allowed?.[node] !== 0);
  shuffle(nodes, draw);
  const [target] = nodes;
  for (const [pod, node] of assignment.entries()) if (node === target && node >= 0) chosen.add(pod);
}
