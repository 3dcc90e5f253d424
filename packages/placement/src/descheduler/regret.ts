// Whether moves did what they were made for. After each one the channels of the replacement are looked at
// again; when too little of what was expected has come, no more pods are moved for a while, twice as long
// each time in a row.

/** A move whose channels were measured again. */
export interface JudgedMove {
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
  /** Wall clock milliseconds; 0 = not stopped. */
  readonly stoppedUntilMs: number;
  /** Stops in a row without a good move in between. */
  readonly stops: number;
}

export const NO_REGRET: RegretState = { judged: [], stoppedUntilMs: 0, stops: 0 };

/** Less of the expected gain than this, and a move was in vain: its workload rests twice as long. */
const EFFECTIVE_SHARE = 0.5;
const MAX_DOUBLINGS = 6;

export function isEffective({ beforeMs, expectedMs, afterMs }: JudgedMove): boolean {
  return beforeMs - afterMs >= EFFECTIVE_SHARE * (beforeMs - expectedMs);
}

/**
 * The share of the expected gain that didn't come: 1 - sum(before - after) / sum(before - expected), each
 * weighed by its traffic; 0 when all came, 1 when none did, more when it got worse. 0 without any move.
 */
export function regretOf(judged: readonly JudgedMove[]): number {
  let expected = 0;
  let came = 0;
  for (const { beforeMs, expectedMs, afterMs, bytesPerSecond } of judged) {
    expected += (beforeMs - expectedMs) * bytesPerSecond;
    came += (beforeMs - afterMs) * bytesPerSecond;
  }
  return expected > 0 ? Math.max(0, 1 - came / expected) : 0;
}

/** Takes a judgement in, and stops when it is one too many. After a stop all begins anew. */
export function judged(state: RegretState, move: JudgedMove, rules: RegretRules, nowMs: number): RegretState {
  const moves = [...state.judged, move].slice(-rules.maxJudged);
  const stops = isEffective(move) ? 0 : state.stops;
  if (moves.length < rules.minJudged || regretOf(moves) <= rules.maxRegret)
    return { ...state, judged: moves, stops };
  const pauseMs = rules.pauseMs * 2 ** Math.min(state.stops, MAX_DOUBLINGS);
  return {
    judged: [],
    stoppedUntilMs: Math.max(state.stoppedUntilMs, nowMs + pauseMs),
    stops: state.stops + 1,
  };
}

/** How long the next move of a workload must wait after one that was judged. */
export function nextCoolDown(
  move: JudgedMove,
  lastMs: number,
  rules: { readonly coolDownMs: number; readonly maxCoolDownMs: number },
): number {
  return isEffective(move) ? rules.coolDownMs : Math.min(lastMs * 2, rules.maxCoolDownMs);
}
