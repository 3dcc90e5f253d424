import type { PlanState, SpotSearch } from "./plan-state.ts";

/** Rounds over unplaced pods, which may depend on pods placed after them. */
const MAX_ROUNDS = 3;

/** @param forced node of the first pod; -1: none */
export function construct(
  state: PlanState,
  order: readonly number[],
  forced: number,
  search: SpotSearch,
): void {
  let waiting = order;
  let seed = forced;
  for (let round = 0; round < MAX_ROUNDS && waiting.length > 0; round++) {
    const left: number[] = [];
    for (const pod of waiting) {
      const seeded = seed >= 0 && state.admits(pod, seed, false);
      const node = seeded ? seed : (state.bestSpot(pod, -1, search)?.node ?? -1);
      seed = -1;
      if (node >= 0) state.place(pod, node);
      else left.push(pod);
    }
    if (left.length === waiting.length) return;
    waiting = left;
  }
}

/** Places first the pod with the largest difference between its best and second best node. */
export function constructByRegret(state: PlanState, pods: readonly number[]): void {
  const waiting = new Set(pods);
  while (waiting.size > 0) {
    let chosen = { pod: -1, node: -1, regret: -1, cost: Infinity };
    for (const pod of waiting) {
      const { spot, second } = state.twoBest(pod);
      if (spot === null) continue;
      const regret = second === Infinity ? Infinity : second - spot.cost;
      if (regret > chosen.regret || (regret === chosen.regret && spot.cost < chosen.cost))
        chosen = { pod, node: spot.node, regret, cost: spot.cost };
    }
    if (chosen.pod < 0) return;
    state.place(chosen.pod, chosen.node);
    waiting.delete(chosen.pod);
  }
}
