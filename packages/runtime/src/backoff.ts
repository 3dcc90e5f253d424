import { backoffMs, type BackoffGrowth } from "@isochrone/primitives";
import type { Clock, Random } from "./clock.ts";
import { CodedError } from "./errors.ts";

export interface BackoffDelays extends BackoffGrowth {
  /** Random share of the delay, 0 to 1: with 0.5 a delay of 100 ms is between 50 and 100. */
  readonly jitterRatio: number;
}

interface BackoffPolicy extends BackoffDelays {
  /** Including the first; Infinity: no limit. */
  readonly maxAttempts: number;
}

export const DEFAULT_BACKOFF: BackoffPolicy = Object.freeze({
  initialMs: 100,
  maxMs: 30_000,
  factor: 2,
  jitterRatio: 0.5,
  maxAttempts: Number.POSITIVE_INFINITY,
});

/** Whether to retry after `attempt` failures, from 1. Errors without `retryable` count as transient. */
export function shouldRetry(policy: BackoffPolicy, attempt: number, error: unknown): boolean {
  if (attempt >= policy.maxAttempts) return false;
  return error instanceof CodedError ? error.retryable : true;
}

export function delayMs(policy: BackoffDelays, attempt: number, random: Random): number {
  return backoffMs(policy, attempt) * (1 - policy.jitterRatio * random.next());
}

/** Retries until success. Throws an error that must not be retried, or the reason of an aborted `signal`. */
export async function retry<T>(options: {
  readonly clock: Clock;
  readonly random: Random;
  readonly policy: BackoffPolicy;
  readonly signal?: AbortSignal;
  run(attempt: number): Promise<T>;
  onRetry?(error: unknown, attempt: number, delayMs: number): void;
}): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    options.signal?.throwIfAborted();
    try {
      return await options.run(attempt);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!shouldRetry(options.policy, attempt, error)) throw error;
      const waitMs = delayMs(options.policy, attempt, options.random);
      options.onRetry?.(error, attempt, waitMs);
      await options.clock.sleep(waitMs, options.signal);
    }
  }
}
