import { CodedError } from "@isochrone/runtime";

const NETWORK_ERROR_CODES = [
  "invalid_argument",
  "unknown_node",
  "not_exposed",
  "no_addresses",
  "relay_down",
  "relay_failed",
  "invalid_matrix",
] as const;
export type NetworkErrorCode = (typeof NETWORK_ERROR_CODES)[number];

export class NetworkError extends CodedError {
  declare readonly code: NetworkErrorCode;

  constructor(code: NetworkErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(code, message, { ...options, retryable: code === "relay_down" });
  }
}
