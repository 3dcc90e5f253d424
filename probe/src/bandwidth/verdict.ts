// What an estimate is worth: when it is enough, when it says that others are on the way, and when it says
// nothing.
import type { BandwidthResult } from "@isochrone/telemetry";
import type { LinkEstimate } from "./estimate.ts";

const ENOUGH = { fullMs: 160, units: 240, relativeError: 0.005, otherShareError: 0.025 } as const;
/** Of these parts of enough something may be told when the bytes or the time are over. */
const LITTLE = 0.25;
/** A test that can't tell better than this isn't believed. */
const MAX_RELATIVE_ERROR = 0.015;
/** Nor this one, where the hosts are the limit and not the link. */
const MAX_HOST_ERROR = 0.1;
/** Every host can send so fast; one that doesn't has no time, and says nothing of the link. */
const MIN_SENDER_BITS = 500e6;
/** Others may take so much of the link before it counts as busy. */
const BUSY_SHARE = 0.05;
/** Before this an estimate of others' part is too wild. */
const MIN_FULL_MS = 40;
/**
 * A quiet link is known in a third of a second: after it less certainty is asked for, because others wait.
 */
const LONG_HOLD_MS = 350;

export interface Verdict {
  readonly result: BandwidthResult;
  /** "" when `ok`. */
  readonly reason: string;
}

const OK: Verdict = { result: "ok", reason: "" };

/** While the link is held full. Null: go on. */
export function judgeHold(estimate: LinkEstimate, heldMs: number, policed: boolean): Verdict | null {
  const { otherShare, fullMs, units, relativeError } = estimate;
  const doubt = heldMs > LONG_HOLD_MS ? 1 : 3;
  const isBusy = otherShare !== null && otherShare.value - doubt * otherShare.error > BUSY_SHARE;
  if (otherShare !== null && isBusy && fullMs > MIN_FULL_MS) return busy(otherShare.value);
  const sure = otherShare === null ? policed : otherShare.error < ENOUGH.otherShareError;
  const enough = fullMs >= ENOUGH.fullMs && units >= ENOUGH.units && relativeError <= ENOUGH.relativeError;
  return sure && enough ? judgeEnd(estimate) : null;
}

/** When the time is over. */
export function judgeEnd(estimate: LinkEstimate | null): Verdict {
  if (estimate === null || estimate.fullMs < LITTLE * ENOUGH.fullMs)
    return { result: "error", reason: "the link wasn't full for long enough to tell its rate" };
  const { otherShare, relativeError } = estimate;
  if (otherShare !== null && otherShare.value - otherShare.error > BUSY_SHARE) return busy(otherShare.value);
  if (relativeError <= MAX_RELATIVE_ERROR) return OK;
  const percent = (100 * relativeError).toFixed(1);
  return { result: "skipped_busy", reason: `arrivals too irregular to tell the rate: +-${percent} %` };
}

/** When the bytes are spent: what was seen before may still be enough. */
export function judgeSpent(estimate: LinkEstimate | null): Verdict {
  const { units = 0, fullMs = 0 } = estimate ?? {};
  if (units >= LITTLE * ENOUGH.units && fullMs >= LITTLE * ENOUGH.fullMs) return judgeEnd(estimate);
  return { result: "skipped_budget", reason: "the bytes allowed were spent before the rate was certain" };
}

/** Of a rate that no queue limits: the cap's, or the sender's own (`bySender`). */
export function judgeHosts(estimate: LinkEstimate | null, bySender: boolean): Verdict {
  if (estimate === null) return { result: "error", reason: "the last reports stayed away" };
  if (bySender && estimate.bitsPerSecond < MIN_SENDER_BITS)
    return { result: "error", reason: "the own host stood still too often to send evenly" };
  if (estimate.relativeError <= MAX_HOST_ERROR) return OK;
  return { result: "error", reason: "the hosts are too slow for an even rate" };
}

function busy(share: number): Verdict {
  return {
    result: "skipped_busy",
    reason: `other traffic takes ${Math.round(100 * Math.min(1, share))} % of the link`,
  };
}
