// Judges moves by measuring the replacement's channels. Too little gain, or two failed proposals in a row,
// pause the descheduler, each time twice as long.

export interface MeasuredMove {
  readonly atMs: number;
  /** Mean round trip weighted by traffic, milliseconds: at the decision, as expected, and afterwards. */
  readonly beforeMs: number;
  readonly expectedMs: number;
  readonly afterMs: number;
  readonly bytesPerSecond: number;
}

/** A move whose pod didn't reach its target. It counts as a move without gain. */
export interface FailedMove {
  readonly atMs: number;
  readonly workflow: string;
  readonly failure: string;
}

export type JudgedMove = MeasuredMove | FailedMove;

interface RegretRules {
  /** Pauses if more than this share of the expected gain is missing. */
  readonly maxRegret: number;
  /** Minimum judged moves before a pause. */
  readonly minJudged: number;
  readonly maxJudged: number;
  /** Length of the first pause, milliseconds. */
  readonly pauseMs: number;
}

/** State of the regret rule. Immutable. */
export interface RegretState {
  readonly judged: readonly JudgedMove[];
  /** Failed proposals since the last success. */
  readonly failedProposals: number;
  /** End of the pause, wall clock milliseconds; 0: not paused. */
  readonly stoppedUntilMs: number;
  readonly stoppedBy: Stop | null;
  /** Pauses since the last effective move. */
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

/** Below this share of the expected gain a move was ineffective, and its workload rests twice as long. */
const EFFECTIVE_SHARE = 0.5;
const MAX_DOUBLINGS = 6;
const MAX_FAILED_PROPOSALS = 2;

export function isEffective(move: JudgedMove): boolean {
  if ("failure" in move) return false;
  const { beforeMs, expectedMs, afterMs } = move;
  return beforeMs - afterMs >= EFFECTIVE_SHARE * (beforeMs - expectedMs);
}

/**
 * Share of the expected gain that didn't come: 1 - sum(before - after) / sum(before - expected), weighted by
 * traffic. 0: all came; 1: none; above 1: it got worse. A failed move counts as a mean move without gain.
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

/** Adds a judged move, and pauses if regret is high. A pause resets all counts. */
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

/** @param failure first failed move of the finished proposal; null: success */
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
    // One cause can trigger both kinds of pause.
    stops: state.stoppedUntilMs > nowMs ? state.stops : state.stops + 1,
  };
}

/** Upper bound of pauses. */
export function longestPauseMs(pauseMs: number): number {
  return pauseMs * 2 ** MAX_DOUBLINGS;
}

/** Returns the wait before the workload's next move, milliseconds. */
export function nextCoolDown(
  move: JudgedMove,
  lastMs: number,
  rules: { readonly coolDownMs: number; readonly maxCoolDownMs: number },
): number {
  return isEffective(move) ? rules.coolDownMs : Math.min(lastMs * 2, rules.maxCoolDownMs);
}
