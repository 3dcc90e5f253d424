import { hash53 } from "../../domain/hash.ts";

interface WriteRule {
  readonly refreshMs: number;
  readonly minIntervalMs: number;
}

interface WriteState {
  /** Seed of the refresh's jitter. */
  readonly name: string;
  readonly observedAtMs: number | null;
  /** Like {@link changeOf}: 1 and above is significant. */
  readonly change: number;
}

/** Refreshes spread over objects, and leave time to wait in a queue. */
const DUE_FROM = 0.91;
const DUE_SPREAD = 0.05;
/** Maximum plausible clock error of a time in the future. */
const MAX_AHEAD_MS = 60_000;
/** Above any age or change. */
const DUE = 1e12;
const MAX_CHANGE = 100;

/**
 * Highest first; null: nothing to write. Due refreshes precede changes. Larger changes first, then older
 * ones.
 */
export function urgency(
  { name, observedAtMs, change }: WriteState,
  rule: WriteRule,
  nowMs: number,
): number | null {
  if (observedAtMs === null || observedAtMs - nowMs > MAX_AHEAD_MS) return 2 * DUE;
  const ageMs = Math.max(0, nowMs - observedAtMs);
  const share = DUE_FROM + DUE_SPREAD * (hash53(`${name}\n${observedAtMs}`) / 2 ** 53);
  if (ageMs >= share * rule.refreshMs) return DUE + ageMs;
  if (change < 1 || ageMs < rule.minIntervalMs) return null;
  return Math.min(change, MAX_CHANGE) * (1 + ageMs / rule.refreshMs);
}
