// Larger moves: those that only together gain, and those that have to wait for each other. When a zone goes
// far away, no pod that is there gains by leaving those that it talks to: they gain only when all have left.
// And where nodes are full, a pod finds room only when another one has gone. So the workflow is planned anew,
// and what of the plan doesn't pay its way is left out.
import type { Campaign, Streak } from "./memory.ts";
import type { Replanning } from "./replanning.ts";
import type { PodMove, Proposal } from "./proposal.ts";
import type { WorkflowMoves } from "./workflow-moves.ts";

/** Pods that one larger move moves at most. */
const MAX_MOVES = 60;
/** Zones that it is tried to leave. */
const MAX_ZONES = 3;
/** After so many runs in a row in which nothing of it could be done, it is over. */
const MAX_IDLE_RUNS = 5;
/** Each move must add at least this share of what the moves gain on average. */
const LEAST_SHARE = 0.2;

/** Moves that are made in several runs: more than a group may have, or such that wait for each other. */
export function isLarge(workflow: WorkflowMoves, moves: readonly PodMove[], maxGroup: number): boolean {
  return moves.length > maxGroup || (moves.length > 1 && !workflow.areAtOnce(moves));
}

/** Ejection chains begin with one of so many pods. */
const ROTATED_PODS = 8;

/** The larger move that gains most; null when none is worth it. */
export function* proposeCampaign(
  workflow: WorkflowMoves,
  replanning: Replanning,
  maxGroup: number,
): Generator<undefined, Proposal | null> {
  let best: Proposal | null = null;
  const consider = (moves: readonly PodMove[]): void => {
    const found = moves.length <= MAX_MOVES ? pruned(workflow, workflow.inTurn(moves)) : null;
    if (found !== null && found.gain > (best?.gain ?? 0) && isLarge(workflow, found.moves, maxGroup))
      best = found;
  };
  const zones = replanning.zones().slice(0, MAX_ZONES);
  const searches = [...zones.map((zone) => () => replanning.leaving(zone)), () => replanning.whole()];
  for (const search of searches) {
    yield;
    const possible = search().filter((move) => workflow.keepsSpan(move));
    yield;
    consider(possible);
  }
  for (const pod of workflow.inTheWay().slice(0, ROTATED_PODS)) {
    yield;
    consider(workflow.rotation(pod)?.moves ?? []);
  }
  return best;
}

/** What is left when no move of it adds too little; null when that can't be done. */
function pruned(workflow: WorkflowMoves, moves: readonly PodMove[]): Proposal | null {
  let best = workflow.judgeTogether(moves);
  // A move that paid beside another one may pay no more when that is left out.
  for (let before: Proposal | null = null; best !== null && best !== before;) {
    before = best;
    for (const move of before.moves) {
      const without = workflow.judgeTogether(best.moves.filter((other) => other !== move));
      if (without !== null && !addsEnough(workflow, best, without)) best = without;
    }
  }
  // Others may have waited for one that was left out.
  return best !== null && workflow.inTurn(best.moves).length === best.moves.length ? best : null;
}

function addsEnough(workflow: WorkflowMoves, { gain, moves }: Proposal, without: Proposal): boolean {
  const added = gain - without.gain;
  return added >= workflow.leastAdded && added >= (LEAST_SHARE * gain) / moves.length;
}

export function begunCampaign(moves: Streak["moves"]): Campaign {
  return { moves, idleRuns: 0 };
}

/**
 * At once when all its pods are gone: it is done.
 * @param uids of all pods that are there; undefined: nobody knows
 */
export function isDone({ moves }: Campaign, uids: ReadonlySet<string> | undefined): boolean {
  return uids !== undefined && !moves.some(({ uid }) => uids.has(uid));
}

/** What is left of it for the pods that may be moved now; null when that gains nothing, or isn't possible. */
export function restOf(
  workflow: WorkflowMoves,
  { moves }: Campaign,
  resolve: (move: Streak["moves"][number]) => PodMove | null,
): Proposal | null {
  const left = moves
    .map(resolve)
    .filter((move) => move !== null)
    .filter(({ pod, node }) => workflow.nodeOf(pod) !== node);
  const judged = left.length === 0 ? null : workflow.judgeTogether(left);
  return judged !== null && judged.gain > 0 ? judged : null;
}

/**
 * As the next run is to know it; null when it is over, since nothing of it could be done in some runs: the
 * network has changed, or others have taken the room, and while it is remembered nothing else of the workflow
 * is moved. Not at once: what is left may pay only with pods that are under way, or whose graph hasn't
 * settled.
 */
export function afterRun({ moves, idleRuns }: Campaign, isIdle: boolean): Campaign | null {
  if (!isIdle) return { moves, idleRuns: 0 };
  return idleRuns + 1 >= MAX_IDLE_RUNS ? null : { moves, idleRuns: idleRuns + 1 };
}
