import { CodedError } from "@isochrone/runtime";

/** Codes of everything the probe throws. */
const PROBE_ERROR_CODES = [
  "probe_config_invalid",
  "probe_bind_failed",
  "probe_thread_failed",
  "probe_thread_closed",
  "probe_plan_unreachable",
  "probe_plan_refused",
  "probe_lease_unreachable",
] as const;
type ProbeErrorCode = (typeof PROBE_ERROR_CODES)[number];

/**
 * Thrown by everything of the probe; `code` says what happened, `retryable` whether the same call may succeed
 * later.
 */
export class ProbeError extends CodedError {
  declare readonly code: ProbeErrorCode;

  constructor(code: ProbeErrorCode, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(code, message, options);
  }
}

/** Thrown when the source of plans has no time for this probe; the plan before stays in force. */
export class PlanSourceBusyError extends ProbeError {
  /** How long it wants to be left alone. Milliseconds. */
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number, message: string) {
    super("probe_plan_unreachable", message, { retryable: true });
    this.retryAfterMs = retryAfterMs;
  }
}

/** Thrown when a plan breaks a rule; the plan before stays in force. */
export class PlanRefusedError extends ProbeError {
  /** Which rule; a label of metrics. */
  readonly reason: string;

  constructor(reason: string, message: string) {
    super("probe_plan_refused", message);
    this.reason = reason;
  }
}
