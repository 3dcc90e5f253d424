import { delayMs } from "@isochrone/runtime";

import type { KafkaClientOptions } from "./options.ts";

/** Delay after failed attempt number n (from 1): exponential, with jitter. */
export function retryDelayMs(
  { random, retryInitialMs, retryMaxMs }: KafkaClientOptions,
  attempt: number,
): number {
  const delays = { initialMs: retryInitialMs, maxMs: retryMaxMs, factor: 2, jitterRatio: 0.5 };
  return delayMs(delays, attempt, random);
}
