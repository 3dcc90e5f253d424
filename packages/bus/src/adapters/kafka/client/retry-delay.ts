import { delayMs } from "@isochrone/runtime";

import type { KafkaClientOptions } from "./options.ts";

/**
 * The pause after the failed attempt of this number (from 1 on): growing, and another one for everybody who
 * failed at the same time.
 */
export function retryDelayMs(
  { random, retryInitialMs, retryMaxMs }: KafkaClientOptions,
  attempt: number,
): number {
  const delays = { initialMs: retryInitialMs, maxMs: retryMaxMs, factor: 2, jitterRatio: 0.5 };
  return delayMs(delays, attempt, random);
}
