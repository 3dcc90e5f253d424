// Greedy starts.
import type { PlanState, SpotSearch } from "./plan-state.ts";

/** Rounds over pods that found no node: what they wait for may have been placed after them. */
const MAX_ROUNDS = 3;

/**
 * Gives pods the best node in turn; `forced` is the first one's node, or -1. Pods that find none stay
 * without.
 */
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

/**
 * Next is always the pod that would lose most by waiting: the difference between its second best node and its
 * best.
 */
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
