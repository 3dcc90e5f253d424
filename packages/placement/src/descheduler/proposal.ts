export interface PodMove {
  readonly pod: number;
  readonly node: number;
}

export interface Proposal {
  readonly moves: readonly PodMove[];
  /** Reduction of cost, bytes per second x milliseconds. */
  readonly gain: number;
  /** Current cost of the pods' channels. A channel between two of them counts twice. */
  readonly cost: number;
}

/** Pressure (by requests) can count against a move but not for it; relief of a really overloaded node can. */
export function gainOf(less: {
  readonly network: number;
  readonly pressure: number;
  readonly relief: number;
}): number {
  return Math.min(less.network, less.network + less.pressure) + less.relief;
}
