import { CodedError } from "@isochrone/runtime/basics";

/**
 * API server reasons for statuses 404, 409 (two), 410, 422, 401, 403 and 429, and failures to answer.
 * `fenced`: not sent, because this process must not write.
 */
export const STORE_ERROR_CODES = [
  "not_found",
  "already_exists",
  "conflict",
  "expired",
  "invalid",
  "unauthorized",
  "forbidden",
  "too_many_requests",
  "timeout",
  "unavailable",
  "fenced",
] as const;

const RETRYABLE: ReadonlySet<string> = new Set(["too_many_requests", "timeout", "unavailable"]);

export type StoreErrorCode = (typeof STORE_ERROR_CODES)[number];

/** A failed store call. If `retryable`, the same call may succeed later. */
export class StoreError extends CodedError {
  declare readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(code, message, { ...options, retryable: RETRYABLE.has(code) });
  }
}

/** A kubeconfig, or the program that it names, gives nothing to log in with. */
export class CredentialsError extends StoreError {}

/**
 * Whether `error` is a StoreError of this code: for callers to whom, say, an absent object is as good as a
 * deleted one.
 */
export function isStoreError(error: unknown, code: StoreErrorCode): error is StoreError {
  return error instanceof StoreError && error.code === code;
}
