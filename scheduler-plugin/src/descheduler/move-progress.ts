import type { MoveWorth, Replacement, StartedMove } from "./started-moves.ts";

/**
 * Stages of a move. `replacing`: the replacement starts, the pod still serves. `evicted`: the pod goes first.
 * `arrived`: the replacement is ready. `withdrawn`: the pod stayed. `lost`: no replacement in time.
 * `measured`: channels were measured again.
 */
const MOVE_STAGES = ["replacing", "evicted", "arrived", "withdrawn", "lost", "measured"] as const;
export type MoveStage = (typeof MOVE_STAGES)[number];

export interface MoveProgress {
  readonly id: string;
  readonly stage: MoveStage;
  readonly namespace: string;
  readonly workflow: string;
  readonly workload: string;
  readonly pod: string;
  readonly from: string;
  readonly to: string;
  /** The replacement and its node; null before it is ready. */
  readonly replacement: Pick<Replacement, "name" | "node"> | null;
  readonly worth: MoveWorth | null;
  /** Mean round trip of the pod's channels, weighted by traffic, ms; null if unknown. */
  readonly beforeMs: number | null;
  /** Also null for pods that only gain together: the expected cost depends on the others. */
  readonly expectedMs: number | null;
  readonly afterMs: number | null;
}

export function progressOf(
  move: StartedMove,
  stage: MoveStage,
  replacement: Replacement | null = null,
  afterMs: number | null = null,
): MoveProgress {
  const { id, namespace, workflow, workload, pod, from, to, before, expected, worth } = move;
  return {
    id,
    stage,
    namespace,
    workflow,
    workload,
    pod,
    from,
    to,
    replacement: replacement === null ? null : { name: replacement.name, node: replacement.node },
    worth,
    beforeMs: before?.ms ?? null,
    expectedMs: worth !== null && worth.pods > 1 ? null : (expected?.ms ?? null),
    afterMs,
  };
}
