// What may be moved, and what that is worth.

/** A pod and a node by their indices in the problem. */
export interface PodMove {
  readonly pod: number;
  readonly node: number;
}

/** One move, or several that are made together. */
export interface Proposal {
  readonly moves: readonly PodMove[];
  /** How much less channels and overload will cost, bytes per second x milliseconds. */
  readonly gain: number;
  /** What the channels of these pods cost now; the one between two of them counts twice. */
  readonly cost: number;
}

/**
 * What is requested of nodes may speak against a move, it is no reason for one; that a node is really
 * overloaded is.
 */
export function gainOf(less: {
  readonly network: number;
  readonly pressure: number;
  readonly relief: number;
}): number {
  return Math.min(less.network, less.network + less.pressure) + less.relief;
}
