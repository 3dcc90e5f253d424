import { setTimeout as delay } from "node:timers/promises";
import type { Clock, Random } from "./clock.ts";

/** The real time. Only main.ts hands it out. */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    try {
      await delay(Math.max(0, ms), undefined, signal ? { signal } : undefined);
    } catch (error) {
      // node wraps the reason in an AbortError; callers compare with their own reason
      if (signal?.aborted) throw signal.reason;
      throw error;
    }
  },
});

/** The real randomness (not for keys). Only main.ts hands it out. */
export const systemRandom: Random = Object.freeze({ next: () => Math.random() });
