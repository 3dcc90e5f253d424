import type { CostModel } from "../../planner/objective/objective.ts";
import { PlanState } from "../../planner/search/plan-state.ts";
import type { PodMove } from "../../descheduler/proposal.ts";

/** Returns why the pod can't go there after the moves `made`. */
export function obstacleAt(
  model: CostModel,
  at: Int32Array,
  { pod, node, made }: PodMove & { readonly made: readonly PodMove[] },
): string {
  const state = new PlanState(model);
  for (const [index, current] of at.entries()) state.place(index, current);
  for (const move of made) state.move(move.pod, move.node);
  state.unplace(pod);
  const { nodes, pods, resources } = state.problem;
  const { name } = nodes[node]!;
  if (pods[pod]!.allowed?.[node] === 0) return `${name} doesn't admit it`;
  const short = state.shortage(pod, node);
  if (short >= 0) return `${name} has too little ${resources[short]} until other pods have left it`;
  const broken = state.rulesOf(pod).find((rule) => !rule.admits(pod, node, false));
  return broken === undefined
    ? `on ${name} too few nodes or zones would have a replica`
    : `on ${name} it would break ${broken.name}`;
}
