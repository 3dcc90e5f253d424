// What would be if pods were elsewhere: computed from the graphs in the page; nothing is moved. Pure.
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { milliseconds } from "../../model/format.ts";
import {
  requestTime,
  withMoves,
  type CostBetween,
  type PodMove,
  type RequestTime,
} from "../../model/request-time.ts";

export interface Prediction {
  readonly today: RequestTime;
  readonly moved: RequestTime;
  /** End to end; null: nobody measures it here. */
  readonly p95Ms: { readonly today: number; readonly moved: number } | null;
}

/**
 * @param measuredP95Ms end to end, today; null: not measured. What is predicted of it is what is measured and
 * the difference of the slowest chain: all else of a request stays as it is
 */
export function predict(
  workflow: WorkflowGraphSnapshot,
  moves: readonly PodMove[],
  costBetween: CostBetween,
  measuredP95Ms: number | null,
): Prediction | null {
  const today = requestTime(workflow, costBetween);
  const moved = requestTime(withMoves(workflow, moves), costBetween);
  if (today === null || moved === null) return null;
  const difference = moved.chainMs - today.chainMs;
  return {
    today,
    moved,
    p95Ms:
      measuredP95Ms === null || !Number.isFinite(difference)
        ? null
        : { today: measuredP95Ms, moved: Math.max(0, measuredP95Ms + difference) },
  };
}

/** The moves with one more; a pod that goes back to where it runs isn't moved. */
export function withMove(
  workflow: WorkflowGraphSnapshot,
  moves: readonly PodMove[],
  move: PodMove,
): readonly PodMove[] {
  const others = moves.filter(({ pod }) => pod !== move.pod);
  const runsOn = workflow.workloads.flatMap(({ pods }) => pods).find(({ name }) => name === move.pod)?.node;
  return runsOn === move.node ? others : [...others, move];
}

export function changeInWords(today: number, then: number): string {
  if (then === Number.POSITIVE_INFINITY) return "unreachable";
  const difference = then - today;
  if (!Number.isFinite(difference) || Math.abs(difference) < 0.05) return "as today";
  return `${milliseconds(Math.abs(difference))} ${difference < 0 ? "less" : "more"}`;
}
