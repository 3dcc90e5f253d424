const SCHEDULER_ERROR_CODES = ["malformed_args"] as const;
type SchedulerErrorCode = (typeof SCHEDULER_ERROR_CODES)[number];

/** Valid JSON that isn't ExtenderArgs: answered with 400. The message names field, rule and value. */
export class ExtenderArgsError extends Error {
  readonly code: SchedulerErrorCode = "malformed_args";

  constructor(message: string) {
    super(message);
    this.name = "ExtenderArgsError";
  }
}
