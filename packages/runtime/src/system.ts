import type { Clock, Random } from "./clock.ts";

/** The real time. Only main.ts hands it out. */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms: number, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    // Node's own promise makes an error with a stack of each end before its time, and most waits end so.
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal!.reason);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
        Math.max(0, ms),
      );
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  },
});

/** The real randomness (not for keys). Only main.ts hands it out. */
export const systemRandom: Random = Object.freeze({ next: () => Math.random() });
