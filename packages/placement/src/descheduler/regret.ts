// Whether moves did what they were made for. After each move the channels of the replacement are measured
// again. A move that didn't end on its target counts as full regret at once. If too little of the expected
// gain came, or if two proposals in a row failed, no more pods are moved for a while, twice as long each time
// in a row.

/** A move whose channels were measured again. */
export interface MeasuredMove {
  readonly atMs: number;
  /**
   * Mean over the traffic of what a round trip cost, milliseconds: when it was decided, as it was expected to
   * be, and as it has become.
   */
  readonly beforeMs: number;
  readonly expectedMs: number;
  readonly afterMs: number;
  /** Traffic when it was decided. */
  readonly bytesPerSecond: number;
}

/** A move that didn't end on its target: nothing of its gain came. */
export interface FailedMove {
  readonly atMs: number;
  /** namespace/name of its workflow. */
  readonly workflow: string;
  /** What became of the pod, in words. */
  readonly failure: string;
}

export type JudgedMove = MeasuredMove | FailedMove;

interface RegretRules {
  /** More than this share of the expected gain missing, and it stops. */
  readonly maxRegret: number;
  /** Moves that must have been judged before it may stop. */
  readonly minJudged: number;
  /** Only the newest count. */
  readonly maxJudged: number;
  /** How long it stops the first time, milliseconds. */
  readonly pauseMs: number;
}

/** Plain data, never changed. */
export interface RegretState {
  readonly judged: readonly JudgedMove[];
  /** Proposals that failed since the last one that succeeded. */
  readonly failedProposals: number;
  /** Wall clock milliseconds; 0 = not stopped. */
  readonly stoppedUntilMs: number;
  /** Why it stopped last, in words. */
  readonly stoppedBy: Stop | null;
  /** Stops in a row without a good move in between. */
  readonly stops: number;
}

interface Stop {
  readonly reason: "regret" | "failed_moves";
  readonly detail: string;
}

export const NO_REGRET: RegretState = {
  judged: [],
  failedProposals: 0,
  stoppedUntilMs: 0,
  stoppedBy: null,
  stops: 0,
};

/** Less of the expected gain than this, and a move was in vain: its workload rests twice as long. */
const EFFECTIVE_SHARE = 0.5;
const MAX_DOUBLINGS = 6;
/** So many failed proposals in a row stop the descheduler. */
const MAX_FAILED_PROPOSALS = 2;

export function isEffective(move: JudgedMove): boolean {
  if ("failure" in move) return false;
  const { beforeMs, expectedMs, afterMs } = move;
  return beforeMs - afterMs >= EFFECTIVE_SHARE * (beforeMs - expectedMs);
}

/**
 * Returns the share of the expected gain that didn't come: 1 - sum(before - after) / sum(before - expected),
 * weighted by traffic. 0: all came; 1: nothing came; more: it got worse. 0 without any move. A failed move
 * counts as one of mean expected gain of which nothing came.
 */
export function regretOf(moves: readonly JudgedMove[]): number {
  let expected = 0;
  let came = 0;
  let measured = 0;
  for (const move of moves) {
    if ("failure" in move) continue;
    const { beforeMs, expectedMs, afterMs, bytesPerSecond } = move;
    measured++;
    expected += (beforeMs - expectedMs) * bytesPerSecond;
    came += (beforeMs - afterMs) * bytesPerSecond;
  }
  const failed = moves.length - measured;
  if (!(expected > 0)) return failed > 0 ? 1 : 0;
  return Math.max(0, 1 - came / (expected + (failed * expected) / measured));
}

/** Adds a judgement, and stops if it is one too many. After a stop all counts begin anew. */
export function judged(state: RegretState, move: JudgedMove, rules: RegretRules, nowMs: number): RegretState {
  const moves = [...state.judged, move].slice(-rules.maxJudged);
  const next = { ...state, judged: moves, stops: isEffective(move) ? 0 : state.stops };
  if (moves.length < rules.minJudged || regretOf(moves) <= rules.maxRegret) return next;
  const failures = moves.filter((one) => "failure" in one).length;
  const detail =
    failures === 0
      ? "earlier moves didn't gain what they were made for"
      : `of the last ${moves.length} moves ${failures} failed, and too little of what was expected came`;
  return stopped(state, { reason: "regret", detail }, rules, nowMs);
}

/**
 * Adds a proposal that has ended: a single move, a group, or a larger move. Stops if it is one failure too
 * many in a row.
 *
 * @param failure its first failed move; null: all its pods are on their targets
 */
export function proposalEnded(
  state: RegretState,
  failure: FailedMove | null,
  rules: Pick<RegretRules, "pauseMs">,
  nowMs: number,
): RegretState {
  if (failure === null) return { ...state, failedProposals: 0 };
  const failedProposals = state.failedProposals + 1;
  if (failedProposals < MAX_FAILED_PROPOSALS) return { ...state, failedProposals };
  const detail = `${failedProposals} proposals in a row failed, the last one because ${failure.failure}`;
  return stopped(state, { reason: "failed_moves", detail }, rules, nowMs);
}

function stopped(
  state: RegretState,
  stoppedBy: Stop,
  { pauseMs }: Pick<RegretRules, "pauseMs">,
  nowMs: number,
): RegretState {
  const untilMs = nowMs + pauseMs * 2 ** Math.min(state.stops, MAX_DOUBLINGS);
  return {
    judged: [],
    failedProposals: 0,
    stoppedUntilMs: Math.max(state.stoppedUntilMs, untilMs),
    stoppedBy,
    // One cause can stop it twice at once.
    stops: state.stoppedUntilMs > nowMs ? state.stops : state.stops + 1,
  };
}

/** No stop is longer. */
export function longestPauseMs(pauseMs: number): number {
  return pauseMs * 2 ** MAX_DOUBLINGS;
}

/** How long the next move of a workload must wait after one that was judged. */
export function nextCoolDown(
  move: JudgedMove,
  lastMs: number,
  rules: { readonly coolDownMs: number; readonly maxCoolDownMs: number },
): number {
  return isEffective(move) ? rules.coolDownMs : Math.min(lastMs * 2, rules.maxCoolDownMs);
}
