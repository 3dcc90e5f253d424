import { CodedError } from "@isochrone/runtime";

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
 * Codes after which the same call may succeed later. Refusals are included, since tokens, credentials,
 * certificates, rights and topics can change, and no record should be lost meanwhile. Refusals set
 * `retryAfterMs`.
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

interface BusErrorDetails {
  readonly cause?: unknown;
  /** Minimum delay before a retry. */
  readonly retryAfterMs?: number;
}

/** Thrown when a bus operation fails. `retryable`: the same call may succeed later. */
export class BusError extends CodedError {
  declare readonly code: BusErrorCode;
  readonly retryAfterMs: number | undefined;

  constructor(code: BusErrorCode, message: string, details: BusErrorDetails = {}) {
    const retryable = RETRYABLE.has(code);
    super(code, message, details.cause === undefined ? { retryable } : { retryable, cause: details.cause });
    this.retryAfterMs = details.retryAfterMs;
  }
}
