import type { Random } from "@isochrone/runtime";

/** How pauses between attempts grow. */
export interface BackoffPolicy {
  /** Pause before the first repetition. */
  readonly firstMs: number;
  /** No pause is longer, unless the other side asks for more. */
  readonly maxMs: number;
}

/** Doubled per attempt (counted from 0), half of it jitter, so that many publishers that lost one bus don't return as one. */
export function backoffMs(attempt: number, policy: BackoffPolicy, random: Random): number {
  const fullMs = Math.min(policy.maxMs, policy.firstMs * 2 ** Math.min(attempt, 30));
  return fullMs * (0.5 + random.next() / 2);
}
