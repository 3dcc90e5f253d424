import { CodedError } from "@isochrone/runtime";

const PLANNER_ERROR_CODES = [
  "plan_failed",
  "plan_timeout",
  "plan_thread_died",
  "plan_aborted",
  "plan_busy",
  "plan_no_thread",
] as const;
type PlannerErrorCode = (typeof PLANNER_ERROR_CODES)[number];

/** Thrown if the search failed; the pods are then released without a plan. */
export class PlannerError extends CodedError {
  declare readonly code: PlannerErrorCode;

  constructor(code: PlannerErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(code, message, { ...options, retryable: false });
  }
}
