import { hash53 } from "../../domain/hash.ts";

/** When annotations are written. */
interface WriteRule {
  /** No older than this, whatever changed. */
  readonly refreshMs: number;
  /** From one write of an object to the next. */
  readonly minIntervalMs: number;
}

/** What is known of one object. */
interface WriteState {
  /** What the spread of the refreshes is drawn from. */
  readonly name: string;
  /** Its `observed-at`; null when it has none. */
  readonly observedAtMs: number | null;
  /** As {@link changeOf}: 1 and more is significant. */
  readonly change: number;
}

/**
 * Refreshes fall due at 0.91 to 0.96 of the time: spread, so that objects written together don't stay
 * together, and early enough to wait in a queue.
 */
const DUE_FROM = 0.91;
const DUE_SPREAD = 0.05;
/** A time further ahead than this is no clock's error but nonsense. */
const MAX_AHEAD_MS = 60_000;
/** Above what any age or change comes to. */
const DUE = 1e12;
/** A change beyond so many thresholds is no more urgent. */
const MAX_CHANGE = 100;

/**
 * How urgent a write is, the highest first; null: there is nothing to write. What is due comes before what
 * has changed, the oldest first; of what has changed, the most changed and the older.
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
