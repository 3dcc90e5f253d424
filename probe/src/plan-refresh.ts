import { periodic, type Clock, type Periodic, type Random } from "@isochrone/runtime";

/**
 * Refreshes come up to this share of the interval earlier or later: the probes of a cluster don't all ask at
 * one moment.
 */
const JITTER_RATIO = 0.2;
/** The first one comes within this share of the interval, and this time. Milliseconds. */
const FIRST_RATIO = 0.1;
const FIRST_MAX_MS = 1000;

interface PlanRefreshDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly intervalMs: number;
  /** One refresh; resolves with the least time until the next, ms. */
  run(signal: AbortSignal): Promise<number>;
  /** Gets what `run` throws, except its own abortion. */
  onError(error: unknown): void;
}

/**
 * Refreshes that come back at about an interval, at random within it, and not before the source wants to be
 * asked again.
 */
export function planRefresh(deps: PlanRefreshDeps): Periodic {
  const { clock, random, intervalMs } = deps;
  const onError = (error: unknown): void => deps.onError(error);
  let waitMs = Math.min(FIRST_MAX_MS, intervalMs * FIRST_RATIO) * random.next();
  const wait = (leastMs: number): void => {
    const nextMs = intervalMs * (1 - JITTER_RATIO + 2 * JITTER_RATIO * random.next());
    // Who was told to come later comes at random after that, not all together.
    waitMs = leastMs > nextMs ? leastMs + intervalMs * JITTER_RATIO * random.next() : nextMs;
  };
  return periodic({
    clock,
    intervalMs: () => waitMs,
    async run(signal) {
      let leastMs = 0;
      try {
        leastMs = await deps.run(signal);
      } catch (error) {
        if (!signal.aborted) onError(error);
      }
      wait(leastMs);
    },
    onError,
  });
}
