import { CodedError } from "@isochrone/runtime";

export const EXACT_SOLVER_ERROR_CODES = [
  "exact_solver_busy",
  "exact_solver_closed",
  "exact_solver_failed",
  "exact_solver_timeout",
] as const;
type ExactSolverErrorCode = (typeof EXACT_SOLVER_ERROR_CODES)[number];

/** Thrown if the exact solver gave no answer. The plan of the local search stands then. */
export class ExactSolverError extends CodedError {
  declare readonly code: ExactSolverErrorCode;

  constructor(code: ExactSolverErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(code, message, { ...options, retryable: false });
  }
}
