import type { Clock } from "./clock.ts";

/** Sleeps, or returns early on abort, for loops that check the signal themselves. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
