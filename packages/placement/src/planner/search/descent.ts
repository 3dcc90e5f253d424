import type { Budget } from "./budget.ts";
import type { PlanState } from "./plan-state.ts";

/** Minimum relative gain; less is rounding. */
const LEAST_GAIN = 1e-9;
const STRICT = { strict: true };

/** All rules MUST hold before, and do afterwards. */
export function descend(state: PlanState, budget: Budget): void {
  let improved = true;
  while (improved && !budget.exhausted()) {
    improved = moveEach(state, budget);
    if (!improved) improved = swapPairs(state, budget);
  }
}

function moveEach(state: PlanState, budget: Budget): boolean {
  let improved = false;
  for (const pod of state.assignment.keys()) {
    if (budget.exhausted()) break;
    if (state.assignment[pod]! >= 0 && moveOne(state, pod)) improved = true;
  }
  return improved;
}

function moveOne(state: PlanState, pod: number): boolean {
  const from = state.lift(pod);
  const here = state.costAt(pod, from, from);
  const spot = state.bestSpot(pod, from, STRICT);
  state.drop(pod, from);
  if (spot === null || spot.node === from || spot.cost >= here - leastGain(state)) return false;
  state.move(pod, spot.node);
  return true;
}

function swapPairs(state: PlanState, budget: Budget): boolean {
  let improved = false;
  const { assignment } = state;
  for (let a = 0; a < assignment.length && !budget.exhausted(); a++) {
    for (let b = a + 1; b < assignment.length; b++) {
      if (swapIf(state, a, b, -leastGain(state))) improved = true;
    }
  }
  return improved;
}

/** Swaps only if the cost changes by less than `limit` and all rules hold. */
function swapIf(state: PlanState, a: number, b: number, limit: number): boolean {
  const { assignment, traffic } = state;
  const alike = traffic.groupOf[a] === traffic.groupOf[b];
  if (alike || assignment[a]! < 0 || assignment[b]! < 0 || assignment[a] === assignment[b]) return false;
  const network = networkDelta(state, a, b);
  const most = state.pressureAt(a, assignment[a]!) + state.pressureAt(b, assignment[b]!);
  if (network - Math.max(0, most) >= limit) return false;
  const nodeA = state.lift(a);
  const nodeB = state.lift(b);
  const pressure =
    state.pressureAt(a, nodeB) +
    state.pressureAt(b, nodeA) -
    state.pressureAt(a, nodeA) -
    state.pressureAt(b, nodeB);
  const pays = network + pressure < limit && admitted(state, [a, nodeB], [b, nodeA]);
  state.drop(a, nodeA);
  state.drop(b, nodeB);
  if (!pays) return false;
  state.unplace(a);
  state.move(b, nodeA);
  state.place(a, nodeB);
  return true;
}

function admitted(
  state: PlanState,
  [a, nodeA]: readonly [number, number],
  [b, nodeB]: readonly [number, number],
): boolean {
  if (!state.admits(a, nodeA, false)) return false;
  state.drop(a, nodeA);
  let fine = state.admits(b, nodeB, false);
  if (fine) {
    state.drop(b, nodeB);
    fine = state.holds();
    state.lift(b);
  }
  state.lift(a);
  return fine;
}

/**
 * Change of traffic cost by a swap. Returns 0 for pods of a common nearest-routed channel, which swaps don't
 * handle.
 */
function networkDelta(state: PlanState, a: number, b: number): number {
  const { assignment, traffic, field } = state;
  if (traffic.nearestOf[a]!.some((channel) => channel.concerns(b))) return 0;
  const nodeA = assignment[a]!;
  const nodeB = assignment[b]!;
  const apart =
    state.networkAt(a, nodeB, nodeA) -
    state.networkAt(a, nodeA, nodeA) +
    state.networkAt(b, nodeA, nodeB) -
    state.networkAt(b, nodeB, nodeB);
  // Each evaluated the other at its old node, as if joining it.
  const link = traffic.groups[traffic.groupOf[a]!]?.links.find(({ group }) => group === traffic.groupOf[b]);
  if (link === undefined) return apart;
  const together = field.ms(nodeA, nodeA) + field.ms(nodeB, nodeB);
  return apart + (link.calling + link.called) * (field.ms(nodeA, nodeB) + field.ms(nodeB, nodeA) - together);
}

function leastGain(state: PlanState): number {
  return LEAST_GAIN * Math.abs(state.cost);
}
