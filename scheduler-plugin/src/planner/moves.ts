// Applies moves in a plan: a replacement may only go to the recorded target.
import type { MoveRecord } from "@isochrone/kubernetes";
import type { FeasiblePlanProblem } from "@isochrone/placement";
import type { Rejection } from "./cluster-model.ts";
import type { GatedPod } from "./gated-workflows.ts";

export interface Moves {
  readonly redeemed: ReadonlyMap<string, MoveRecord>;
  readonly refused: ReadonlyMap<string, string>;
}

export function targetsOf(
  pods: readonly GatedPod[],
  records: ReadonlyMap<string, MoveRecord>,
  verdict: (pod: GatedPod, node: string) => Rejection | null,
): Moves {
  const redeemed = new Map<string, MoveRecord>();
  const refused = new Map<string, string>();
  for (const pod of pods) {
    const record = records.get(pod.key);
    if (record === undefined) continue;
    const rejection = verdict(pod, record.to);
    if (rejection === null) redeemed.set(pod.key, record);
    else
      refused.set(
        pod.key,
        `It was to be moved to ${record.to}, which isn't allowed any more: ${rejection.message} (${rejection.plugin}).`,
      );
  }
  return { redeemed, refused };
}

export function movesInto(
  problem: FeasiblePlanProblem,
  pods: readonly GatedPod[],
  { redeemed }: { readonly redeemed: ReadonlyMap<string, Pick<MoveRecord, "to">> },
): FeasiblePlanProblem {
  if (redeemed.size === 0) return problem;
  const indexOf = new Map(problem.nodes.map(({ name }, index) => [name, index]));
  return {
    ...problem,
    pods: problem.pods.map((pod, index) => {
      const target = indexOf.get(redeemed.get(pods[index]!.key)?.to ?? "");
      if (target === undefined || pod.allowed?.[target] === 0) return pod;
      const allowed = new Uint8Array(problem.nodes.length);
      allowed[target] = 1;
      return { ...pod, allowed };
    }),
  };
}
