/** State that a run leaves for the next one. Immutable. */
export interface DescheduleMemory {
  readonly streaks: ReadonlyMap<string, Streak>;
  readonly campaigns: ReadonlyMap<string, Campaign>;
}

/** Moves that gain only together and take several runs. */
export interface Campaign {
  readonly moves: Streak["moves"];
  /** Consecutive runs without a possible move. */
  readonly idleRuns: number;
}

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
