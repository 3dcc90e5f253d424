/** Time as services see it. Only main.ts and the composition root hand out the real one. */
export interface Clock {
  /** Wall time, milliseconds since the epoch; may step. */
  now(): number;
  /** Milliseconds from an arbitrary start, never backwards, sub-millisecond grain: for durations. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Uniform numbers in [0, 1). */
export interface Random {
  next(): number;
}
