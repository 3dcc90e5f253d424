import { integer, record, records } from "../objects/json.ts";
import type { NodeState } from "../objects/node-state.ts";
import type { SchedulingPod } from "../objects/scheduling-pod.ts";
import { nodeSelector } from "../objects/selectors.ts";

interface PreferredTerm {
  readonly weight: unknown;
  readonly preference: unknown;
}

/** Score per node: sum of matched preference weights, scaled so that the best node gets 100. */
export function preferredNodeScores({ spec }: SchedulingPod, nodes: readonly NodeState[]): Float64Array {
  const { nodeAffinity } = record<{ nodeAffinity?: unknown }>(spec.affinity);
  const { preferredDuringSchedulingIgnoredDuringExecution: preferred } = record<{
    preferredDuringSchedulingIgnoredDuringExecution?: unknown;
  }>(nodeAffinity);
  const scores = new Float64Array(nodes.length);
  for (const { weight, preference } of records<PreferredTerm>(preferred)) {
    const matches = nodeSelector({ nodeSelectorTerms: [preference] });
    for (const [row, node] of nodes.entries()) if (matches(node)) scores[row]! += integer(weight, 0);
  }
  const most = Math.max(0, ...scores);
  return most === 0 ? scores : scores.map((score) => Math.trunc((100 * score) / most));
}
