import { CodedError } from "@isochrone/runtime";

/** Why a bus operation failed. */
export const BUS_ERROR_CODES = [
  "aborted",
  "closed",
  "overloaded",
  "too_large",
  "rejected",
  "unauthenticated",
  "unauthorized",
  "untrusted",
  "unknown_topic",
  "unavailable",
  "timeout",
  "invalid_offset",
  "invalid_option",
] as const;

export type BusErrorCode = (typeof BUS_ERROR_CODES)[number];

/**
 * The codes for which the same call may succeed later without any change by the caller. Refusals are among
 * them: tokens are asked for anew with every attempt, credentials and certificates are rotated, rights
 * granted and topics created, none of which must cost records. Those that ask for more than a moment's
 * patience say so in `retryAfterMs`.
 */
const RETRYABLE: ReadonlySet<BusErrorCode> = new Set([
  "overloaded",
  "unavailable",
  "timeout",
  "unauthenticated",
  "unauthorized",
  "untrusted",
  "unknown_topic",
]);

/** Facts about a failure that callers act on; they never parse messages. */
interface BusErrorDetails {
  readonly cause?: unknown;
  /** The bus asked not to be tried again before this many milliseconds have passed. */
  readonly retryAfterMs?: number;
}

/**
 * Thrown when the bus did not do what was asked; `retryable` says whether the same call may succeed later.
 */
export class BusError extends CodedError {
  declare readonly code: BusErrorCode;
  readonly retryAfterMs: number | undefined;

  constructor(code: BusErrorCode, message: string, details: BusErrorDetails = {}) {
    const retryable = RETRYABLE.has(code);
    super(code, message, details.cause === undefined ? { retryable } : { retryable, cause: details.cause });
    this.retryAfterMs = details.retryAfterMs;
  }
}
