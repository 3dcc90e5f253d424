// Larger moves. When a zone goes far away, no pod that is there gains by leaving those that it talks to: they gain only when all have left. So
// the workflow is planned anew, and what of the plan doesn't pay its way is left out.
import type { Campaign, Streak } from "./memory.ts";
import type { PodMove, Proposal, WorkflowMoves } from "./workflow-moves.ts";

/** Pods that one larger move moves at most. */
const MAX_MOVES = 60;
/** Zones that it is tried to leave. */
const MAX_ZONES = 3;
/** After so many runs in a row in which nothing of it could be done, it is over. */
const MAX_IDLE_RUNS = 5;
/** Each move must add at least this share of what the moves gain on average. */
const LEAST_SHARE = 0.2;

/** The larger move that gains most; null when none is worth it, or takes more pods than a group may have. */
export function* proposeCampaign(
  workflow: WorkflowMoves,
  minMoves: number,
): Generator<undefined, Proposal | null> {
  let best: Proposal | null = null;
  const zones = workflow.zones().slice(0, MAX_ZONES);
  const searches = [...zones.map((zone) => () => workflow.planned(zone)), () => workflow.plannedWhole()];
  for (const search of searches) {
    yield;
    const possible = search().filter((move) => workflow.keepsSpan(move));
    yield;
    const isLarge = possible.length >= minMoves && possible.length <= MAX_MOVES;
    const found = isLarge ? pruned(workflow, possible) : null;
    if (found !== null && found.moves.length >= minMoves && found.gain > (best?.gain ?? 0)) best = found;
  }
  return best;
}

function pruned(workflow: WorkflowMoves, moves: readonly PodMove[]): Proposal | null {
  let best = workflow.judgeTogether(moves);
  if (best === null) return null;
  for (const move of moves) {
    const without: Proposal | null = workflow.judgeTogether(best.moves.filter((other) => other !== move));
    if (without === null) continue;
    const adds: number = best.gain - without.gain;
    if (adds < workflow.margin(0, 1) || adds < (LEAST_SHARE * best.gain) / best.moves.length) best = without;
  }
  return best;
}

export function begunCampaign(moves: Streak["moves"]): Campaign {
  return { moves, idleRuns: 0 };
}

/** What becomes of a larger move that has begun: what is left of it, and how it is remembered; null when it is over. */
export interface Continuation {
  /** null while none of its pods can be moved. */
  readonly rest: Proposal | null;
  readonly campaign: Campaign;
}

/**
 * What is left of it for the pods that may be moved now. It is over when finishing it has gained nothing for some runs: the network has changed,
 * and while it is remembered nothing else of the workflow is moved. Not at once: what is left may pay only with pods that are under way, or whose
 * graph hasn't settled. At once when all its pods are gone: it is done.
 */
export function continued(
  workflow: WorkflowMoves,
  campaign: Campaign,
  {
    resolve,
    uids,
  }: {
    readonly resolve: (move: Streak["moves"][number]) => PodMove | null;
    /** Of all pods that are there; undefined: nobody knows. */
    readonly uids: ReadonlySet<string> | undefined;
  },
): Continuation | null {
  const { moves, idleRuns } = campaign;
  if (uids !== undefined && !moves.some(({ uid }) => uids.has(uid))) return null;
  const left = moves
    .map(resolve)
    .filter((move) => move !== null)
    .filter(({ pod, node }) => workflow.nodeOf(pod) !== node);
  const judged = left.length === 0 ? null : workflow.judgeTogether(left);
  if (judged !== null && judged.gain > 0) return { rest: judged, campaign: { moves, idleRuns: 0 } };
  return idleRuns + 1 >= MAX_IDLE_RUNS ? null : { rest: null, campaign: { moves, idleRuns: idleRuns + 1 } };
}
