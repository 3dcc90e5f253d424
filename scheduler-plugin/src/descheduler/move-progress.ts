import type { MoveWorth, Replacement, StartedMove } from "./started-moves.ts";

/**
 * How far a move has come. `replacing`: its replacement starts, and its pod still serves. `evicted`: its pod
 * goes first. `arrived`: its replacement is ready. `withdrawn`: its pod stayed where it was. `lost`: no
 * replacement came in time. `measured`: its channels were measured again.
 */
const MOVE_STAGES = ["replacing", "evicted", "arrived", "withdrawn", "lost", "measured"] as const;
export type MoveStage = (typeof MOVE_STAGES)[number];

/** A move of the descheduler, for whoever shows moves as they happen. */
export interface MoveProgress {
  /** Of the decision. */
  readonly id: string;
  readonly stage: MoveStage;
  readonly namespace: string;
  readonly workflow: string;
  readonly workload: string;
  /** The pod that is replaced. */
  readonly pod: string;
  readonly from: string;
  /** The target of the decision. */
  readonly to: string;
  /** The pod that serves in its place, and where it runs; null before it is ready. */
  readonly replacement: Pick<Replacement, "name" | "node"> | null;
  /** null in mode `paper`. */
  readonly worth: MoveWorth | null;
  /** Mean round trip of the pod's channels, weighed by their traffic, milliseconds; null: not known. */
  readonly beforeMs: number | null;
  /**
   * null also for one of several pods that only together gain: what its channels will cost depends on the
   * others.
   */
  readonly expectedMs: number | null;
  /** null before stage `measured`. */
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
