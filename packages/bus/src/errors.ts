import { CodedError } from "@isochrone/runtime";

/** Why a bus operation failed. */
export const BUS_ERROR_CODES = [
  "aborted",
  "closed",
  "overloaded",
  "too_large",
  "rejected",
  "unauthorized",
  "unavailable",
  "timeout",
  "not_assigned",
  "invalid_offset",
  "invalid_option",
] as const;

export type BusErrorCode = (typeof BUS_ERROR_CODES)[number];

/**
 * The codes for which the same call may succeed later without any change by the caller. "unauthorized" is one: tokens are
 * asked for anew with every attempt, and one that has just been rotated must not cost records.
 */
const RETRYABLE: ReadonlySet<BusErrorCode> = new Set([
  "overloaded",
  "unavailable",
  "timeout",
  "unauthorized",
]);

/** Facts about a failure that callers act on; they never parse messages. */
export interface BusErrorDetails {
  readonly cause?: unknown;
  /** The bus asked not to be tried again before this many milliseconds have passed. */
  readonly retryAfterMs?: number;
}

/** Thrown when the bus did not do what was asked; `retryable` says whether the same call may succeed later. */
export class BusError extends CodedError {
  declare readonly code: BusErrorCode;
  readonly retryAfterMs: number | undefined;

  constructor(code: BusErrorCode, message: string, details: BusErrorDetails = {}) {
    const retryable = RETRYABLE.has(code);
    super(code, message, details.cause === undefined ? { retryable } : { retryable, cause: details.cause });
    this.retryAfterMs = details.retryAfterMs;
  }
}
