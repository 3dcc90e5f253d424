const OTLP_ERROR_CODES = ["malformed", "too_large", "bad_headers", "unencodable", "too_many_series"] as const;
type OtlpErrorCode = (typeof OTLP_ERROR_CODES)[number];

/**
 * A record that can't be read or written as a whole. `malformed`: not OTLP protobuf. `too_large`: above the
 * configured size. `bad_headers`: one of our headers is missing or out of range. `unencodable`: OTLP can't
 * represent a number. `too_many_series`: more new resources or metric names than the sender may add.
 */
export class OtlpError extends Error {
  override readonly name = "OtlpError";
  readonly code: OtlpErrorCode;
  /** False, because retrying the same bytes fails again. */
  readonly retryable = false;

  constructor(code: OtlpErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
