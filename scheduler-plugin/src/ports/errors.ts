/** Codes that callers may branch on. */
const SCHEDULER_ERROR_CODES = ["malformed_args"] as const;
type SchedulerErrorCode = (typeof SCHEDULER_ERROR_CODES)[number];

/**
 * Thrown for valid JSON that isn't ExtenderArgs; the message names field, rule and value. Answered with 400.
 */
export class ExtenderArgsError extends Error {
  readonly code: SchedulerErrorCode = "malformed_args";

  constructor(message: string) {
    super(message);
    this.name = "ExtenderArgsError";
  }
}
