import { periodic, type Clock, type Periodic, type Random } from "@isochrone/runtime";

/** Jitter as a share of the interval: a cluster's probes must not all ask at once. */
const JITTER_RATIO = 0.2;
/** Upper bounds of the first delay: this share of the interval, and this time. Milliseconds. */
const FIRST_RATIO = 0.1;
const FIRST_MAX_MS = 1000;

interface PlanRefreshDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly intervalMs: number;
  run(signal: AbortSignal): Promise<number>;
  onError(error: unknown): void;
}

/** Refreshes at about the interval with jitter, and not before the source permits. */
export function planRefresh(deps: PlanRefreshDeps): Periodic {
  const { clock, random, intervalMs } = deps;
  const onError = (error: unknown): void => deps.onError(error);
  let waitMs = Math.min(FIRST_MAX_MS, intervalMs * FIRST_RATIO) * random.next();
  const wait = (leastMs: number): void => {
    const nextMs = intervalMs * (1 - JITTER_RATIO + 2 * JITTER_RATIO * random.next());
    // Probes told to wait return at random times after that, not all together.
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
