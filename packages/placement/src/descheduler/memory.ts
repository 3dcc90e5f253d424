/** What a run leaves for the next one. Plain data, never changed. */
export interface DescheduleMemory {
  /** By key, moves that paid in the last run. */
  readonly streaks: ReadonlyMap<string, Streak>;
  /** Larger moves that have begun, by workflow. */
  readonly campaigns: ReadonlyMap<string, Campaign>;
}

/** Moves of many pods that are made in several runs, since only all of them together gain. */
export interface Campaign {
  readonly moves: Streak["moves"];
  /**
   * For so many runs nothing of it could be done: its pods are under way or at their targets, or the rest
   * doesn't pay.
   */
  readonly idleRuns: number;
}

/** Moves of one or more pods, and in how many runs in a row they paid. */
export interface Streak {
  readonly workflow: string;
  readonly moves: readonly { readonly uid: string; readonly node: string }[];
  readonly runs: number;
}

export const NO_MEMORY: DescheduleMemory = { streaks: new Map(), campaigns: new Map() };

export function streakKey(moves: Streak["moves"]): string {
  return moves
    .map(({ uid, node }) => `${uid}>${node}`)
    .sort()
    .join(" ");
}
