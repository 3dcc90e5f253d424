const STREAM_ERROR_CODES = ["invalid_network", "invalid_job"] as const;
type StreamErrorCode = (typeof STREAM_ERROR_CODES)[number];

export class StreamError extends Error {
  readonly code: StreamErrorCode;
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
