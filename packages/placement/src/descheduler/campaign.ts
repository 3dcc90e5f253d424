// Campaigns: moves that gain only together, or wait for each other, as when a workflow leaves a distant zone
// or nodes are full. Each comes from a new plan of the workflow.
import type { Campaign, Streak } from "./memory.ts";
import type { Replanning } from "./replanning.ts";
import type { PodMove, Proposal } from "./proposal.ts";
import type { WorkflowMoves } from "./workflow-moves.ts";

const MAX_MOVES = 60;
const MAX_ZONES = 3;
/** A campaign ends after this many consecutive runs without a possible move. */
const MAX_IDLE_RUNS = 5;
/** Each move must add at least this share of the mean gain per move. */
const LEAST_SHARE = 0.2;

export function isLarge(workflow: WorkflowMoves, moves: readonly PodMove[], maxGroup: number): boolean {
  return moves.length > maxGroup || (moves.length > 1 && !workflow.areAtOnce(moves));
}

const ROTATED_PODS = 8;

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

/** Drops moves that add too little. Returns null if the rest is infeasible. */
function pruned(workflow: WorkflowMoves, moves: readonly PodMove[]): Proposal | null {
  let best = workflow.judgeTogether(moves);
  // Dropping a move can make another one worthless.
  for (let before: Proposal | null = null; best !== null && best !== before;) {
    before = best;
    for (const move of before.moves) {
      const without = workflow.judgeTogether(best.moves.filter((other) => other !== move));
      if (without !== null && !addsEnough(workflow, best, without)) best = without;
    }
  }
  return best !== null && workflow.inTurn(best.moves).length === best.moves.length ? best : null;
}

function addsEnough(workflow: WorkflowMoves, { gain, moves }: Proposal, without: Proposal): boolean {
  const added = gain - without.gain;
  return added >= workflow.leastAdded && added >= (LEAST_SHARE * gain) / moves.length;
}

export function begunCampaign(moves: Streak["moves"]): Campaign {
  return { moves, idleRuns: 0 };
}

/** Done if all its pods are gone. @param uids of all existing pods; undefined: unknown */
export function isDone({ moves }: Campaign, uids: ReadonlySet<string> | undefined): boolean {
  return uids !== undefined && !moves.some(({ uid }) => uids.has(uid));
}

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
 * Returns null after some idle runs, because a campaign blocks all other moves of the workflow. Some idle
 * runs are normal: pods may be moving, or the graph may lag.
 */
export function afterRun({ moves, idleRuns }: Campaign, isIdle: boolean): Campaign | null {
  if (!isIdle) return { moves, idleRuns: 0 };
  return idleRuns + 1 >= MAX_IDLE_RUNS ? null : { moves, idleRuns: idleRuns + 1 };
}
