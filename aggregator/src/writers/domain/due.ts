import { hash53 } from "../../domain/hash.ts";

interface WriteRule {
  /** Maximum age without a change. */
  readonly refreshMs: number;
  /** Minimum interval between two writes of an object. */
  readonly minIntervalMs: number;
}

interface WriteState {
  /** Seed of the refresh's jitter. */
  readonly name: string;
  /** Its `observed-at`; null: none. */
  readonly observedAtMs: number | null;
  /** Like {@link changeOf}: 1 and above is significant. */
  readonly change: number;
}

/**
 * Refreshes are due at 0.91 to 0.96 of the interval: spread over objects, and early enough to wait in a
 * queue.
 */
const DUE_FROM = 0.91;
const DUE_SPREAD = 0.05;
/** Maximum plausible clock error of a time in the future. */
const MAX_AHEAD_MS = 60_000;
/** Above any age or change. */
const DUE = 1e12;
/** Maximum change that counts, in thresholds. */
const MAX_CHANGE = 100;

/**
 * Urgency of a write, highest first; null: nothing to write. Due refreshes precede changes, oldest first.
 * Changes are ordered by size, then age.
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
