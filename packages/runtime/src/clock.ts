/** Time for services. Only main.ts and the composition root use the real one. */
export interface Clock {
  /** Wall time, Unix milliseconds; may step. */
  now(): number;
  /** Milliseconds from an arbitrary start with sub-millisecond resolution; never decreases. For durations. */
  monotonic(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Uniform numbers in [0, 1). */
export interface Random {
  next(): number;
}
