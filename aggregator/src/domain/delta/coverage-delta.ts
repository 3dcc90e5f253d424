import type { Coverage } from "../windows/coverage.ts";
import type { WindowShape } from "../windows/window-shape.ts";

/** Times on the wire are at least this: what is older lies before every window anyway. */
const MIN_TIME_MS = 1;

/** A time that a counter speaks for. */
export interface CoveredTime {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Stretch {
  /** Start of the first increment: whether the cover begins anew is judged by it. */
  readonly firstFromMs: number;
  minFromMs: number;
  maxToMs: number;
}

const NO_STRETCHES: Stretch[] = [];

/**
 * What a sequence of `Coverage.extend` does, as the fewest calls that do the same whatever the coverage was
 * before. While no increment begins more than a window after the end of those before, only the first one can
 * make the cover begin anew.
 */
export class CoverageDelta {
  readonly #windowMs: number;
  #stretches: Stretch[] = NO_STRETCHES;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  extend(fromMs: number, toMs: number): void {
    const stretches = this.#stretches;
    if (stretches.length === 0) {
      this.#stretches = [{ firstFromMs: fromMs, minFromMs: fromMs, maxToMs: toMs }];
      return;
    }
    const last = stretches[stretches.length - 1]!;
    if (fromMs - last.maxToMs > this.#windowMs) {
      stretches.push({ firstFromMs: fromMs, minFromMs: fromMs, maxToMs: toMs });
      return;
    }
    if (fromMs < last.minFromMs) last.minFromMs = fromMs;
    if (toMs > last.maxToMs) last.maxToMs = toMs;
  }

  /** The calls, in order. */
  times(): CoveredTime[] {
    const stretches = this.#stretches;
    return stretches.length === 1 ? timesOf(stretches[0]!) : stretches.flatMap(timesOf);
  }
}

function timesOf({ firstFromMs, minFromMs, maxToMs }: Stretch): CoveredTime[] {
  const whole = { fromMs: Math.max(MIN_TIME_MS, minFromMs), toMs: Math.max(MIN_TIME_MS, maxToMs) };
  if (minFromMs === firstFromMs) return [whole];
  const firstMs = Math.max(MIN_TIME_MS, firstFromMs);
  return [{ fromMs: firstMs, toMs: firstMs }, whole];
}

/** Start of the pane that the last moment of a stretch lies in. */
export function lastPaneOf({ fromMs, toMs }: CoveredTime, { paneMs }: WindowShape): number {
  const pane = toMs > fromMs ? Math.ceil(toMs / paneMs) - 1 : Math.floor(toMs / paneMs);
  return Math.max(0, pane) * paneMs;
}

/** Does to `coverage` what was done to the delta. */
export function applyCover(coverage: Coverage, times: readonly CoveredTime[], windowMs: number): void {
  for (const { fromMs, toMs } of times) coverage.extend(fromMs, toMs, windowMs);
}
