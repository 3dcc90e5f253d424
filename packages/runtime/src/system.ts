import { setTimeout as delay } from "node:timers/promises";
import type { Clock, Random } from "./clock.ts";

export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    try {
      await delay(Math.max(0, ms), undefined, signal ? { signal } : undefined);
    } catch (error) {
      // Node wraps the reason in an AbortError; callers compare with their own reason.
      if (signal?.aborted) throw signal.reason;
      throw error;
    }
  },
});

export const systemRandom: Random = Object.freeze({ next: () => Math.random() });
