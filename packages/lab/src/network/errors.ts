/** What can go wrong in the emulated network; stable, for programs. */
export const NETWORK_ERROR_CODES = [
  "invalid_argument",
  "unknown_node",
  "not_exposed",
  "no_addresses",
  "relay_down",
  "relay_failed",
  "invalid_matrix",
] as const;
export type NetworkErrorCode = (typeof NETWORK_ERROR_CODES)[number];

/** An error of the emulated network. The message names subject, rule and value. */
export class NetworkError extends Error {
  readonly code: NetworkErrorCode;
  readonly retryable: boolean;

  constructor(code: NetworkErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "NetworkError";
    this.code = code;
    this.retryable = code === "relay_down";
  }
}
