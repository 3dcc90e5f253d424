import type { BandwidthResult } from "@isochrone/telemetry";
import type { LinkEstimate } from "./estimate.ts";

const ENOUGH = { fullMs: 160, units: 240, relativeError: 0.005, otherShareError: 0.025 } as const;
/** Share of the required evidence that still allows a verdict when bytes or time run out. */
const LITTLE = 0.25;
const MAX_RELATIVE_ERROR = 0.015;
const MAX_HOST_ERROR = 0.1;
/** Every host can send this fast. A slower one lacked CPU time, which says nothing about the link. */
const MIN_SENDER_BITS = 500e6;
const BUSY_SHARE = 0.05;
/** Before this the estimate of other traffic is too noisy. */
const MIN_FULL_MS = 40;
/** An idle link is known after a third of a second. Later a larger error is accepted, because others wait. */
const LONG_HOLD_MS = 350;

export interface Verdict {
  readonly result: BandwidthResult;
  readonly reason: string;
}

const OK: Verdict = { result: "ok", reason: "" };

export function judgeHold(estimate: LinkEstimate, heldMs: number, policed: boolean): Verdict | null {
  const { otherShare, fullMs, units, relativeError } = estimate;
  const doubt = heldMs > LONG_HOLD_MS ? 1 : 3;
  const isBusy = otherShare !== null && otherShare.value - doubt * otherShare.error > BUSY_SHARE;
  if (otherShare !== null && isBusy && fullMs > MIN_FULL_MS) return busy(otherShare.value);
  const sure = otherShare === null ? policed : otherShare.error < ENOUGH.otherShareError;
  const enough = fullMs >= ENOUGH.fullMs && units >= ENOUGH.units && relativeError <= ENOUGH.relativeError;
  return sure && enough ? judgeEnd(estimate) : null;
}

export function judgeEnd(estimate: LinkEstimate | null): Verdict {
  if (estimate === null || estimate.fullMs < LITTLE * ENOUGH.fullMs)
    return { result: "error", reason: "the link wasn't full for long enough to tell its rate" };
  const { otherShare, relativeError } = estimate;
  if (otherShare !== null && otherShare.value - otherShare.error > BUSY_SHARE) return busy(otherShare.value);
  if (relativeError <= MAX_RELATIVE_ERROR) return OK;
  const percent = (100 * relativeError).toFixed(1);
  return { result: "skipped_busy", reason: `arrivals too irregular to tell the rate: +-${percent} %` };
}

/** Called when the byte budget is spent; earlier observations may suffice. */
export function judgeSpent(estimate: LinkEstimate | null): Verdict {
  const { units = 0, fullMs = 0 } = estimate ?? {};
  if (units >= LITTLE * ENOUGH.units && fullMs >= LITTLE * ENOUGH.fullMs) return judgeEnd(estimate);
  return { result: "skipped_budget", reason: "the bytes allowed were spent before the rate was certain" };
}

/** Judges a rate that no queue limited: it hit the cap or the sender's own limit (`bySender`). */
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
