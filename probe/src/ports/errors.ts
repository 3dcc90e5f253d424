import { CodedError } from "@isochrone/runtime";

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

export class ProbeError extends CodedError {
  declare readonly code: ProbeErrorCode;

  constructor(code: ProbeErrorCode, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(code, message, options);
  }
}

/** Thrown if the plan source is too busy; the previous plan stays in force. */
export class PlanSourceBusyError extends ProbeError {
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number, message: string) {
    super("probe_plan_unreachable", message, { retryable: true });
    this.retryAfterMs = retryAfterMs;
  }
}

/** Thrown if a plan breaks a rule; the previous plan stays in force. */
export class PlanRefusedError extends ProbeError {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super("probe_plan_refused", message);
    this.reason = reason;
  }
}
