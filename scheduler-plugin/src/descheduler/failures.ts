import { moveOwnerOf } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { MoveOutcome } from "./decision/metrics.ts";
import type { MoveStage } from "./move-progress.ts";
import type { DoneMove, StartedMove } from "./started-moves.ts";

export function stageOf(outcome: MoveOutcome): MoveStage {
  return outcome === "lost" || outcome === "withdrawn" ? outcome : "arrived";
}

export function workflowOf({ namespace, workflow }: Pick<StartedMove, "namespace" | "workflow">): string {
  return `${namespace}/${workflow}`;
}

/** Completes "because ...". */
export function failureOf({ move, outcome, replacement }: DoneMove): string {
  const pod = `${move.namespace}/${move.pod}`;
  if (replacement !== null) return `the replacement of ${pod} runs on ${replacement.node}, not on ${move.to}`;
  return outcome === "lost"
    ? `no replacement of ${pod} became ready in time`
    : `${pod} stayed on ${move.from}: its replacement was not ready on ${move.to} in time`;
}

/** Keeps only siblings: other pods can't be replacements, and wouldn't fit into the memory. */
export function withOwnSiblings(
  waiting: readonly StartedMove[],
  pods: readonly KubernetesObject[],
): StartedMove[] {
  return waiting.map((move) => {
    const uids = pods
      .filter((pod) => moveOwnerOf(pod)?.uid === move.owner.uid)
      .map(({ metadata }) => metadata.uid ?? "");
    return { ...move, siblings: new Set(uids.filter((uid) => move.siblings.has(uid))) };
  });
}
