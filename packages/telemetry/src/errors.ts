/** Why bytes or headers could not be read or written. */
const OTLP_ERROR_CODES = ["malformed", "too_large", "bad_headers", "unencodable", "too_many_series"] as const;
type OtlpErrorCode = (typeof OTLP_ERROR_CODES)[number];

/**
 * A record that can't be read, or a batch that can't be written, as a whole. `malformed`: not protobuf of the
 * OTLP schema; `too_large`: beyond the configured record size; `bad_headers`: one of our own headers missing
 * or out of range; `unencodable`: a number that OTLP has no place for; `too_many_series`: more new resources
 * or names of metrics than its sender may bring.
 */
export class OtlpError extends Error {
  override readonly name = "OtlpError";
  readonly code: OtlpErrorCode;
  /** The same bytes fail again. */
  readonly retryable = false;

  constructor(code: OtlpErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
