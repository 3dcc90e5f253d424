/** What went wrong, as a word that callers may branch on. */
const STREAM_ERROR_CODES = ["invalid_network", "invalid_job"] as const;
type StreamErrorCode = (typeof STREAM_ERROR_CODES)[number];

/** Thrown for a network or job that can't be planned; the message names subject, rule and value. */
export class StreamError extends Error {
  readonly code: StreamErrorCode;
  /** What must be true, without the subject and the value. */
  readonly rule: string;
  readonly value: unknown;

  constructor(code: StreamErrorCode, subject: string, rule: string, value: unknown) {
    super(`${subject}: ${rule}, got ${String(value)}`);
    this.name = "StreamError";
    this.code = code;
    this.rule = rule;
    this.value = value;
  }
}
