import { CodedError } from "@isochrone/runtime";

/** Why a store refused an operation; the API server's reasons for the statuses 404, 409 (twice), 410 and 422. */
export const STORE_ERROR_CODES = ["not_found", "already_exists", "conflict", "expired", "invalid"] as const;

export type StoreErrorCode = (typeof STORE_ERROR_CODES)[number];

/** Thrown when the store did not do what was asked. Repeating the same call unchanged does not help for any of the codes. */
export class StoreError extends CodedError {
  declare readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(code, message, options);
  }
}

/** Whether `error` is a StoreError of this code: for callers to whom, say, an absent object is as good as a deleted one. */
export function isStoreError(error: unknown, code: StoreErrorCode): error is StoreError {
  return error instanceof StoreError && error.code === code;
}
