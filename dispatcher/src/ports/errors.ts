/** What went wrong on the way to an endpoint. */
type UpstreamFault = "connect" | "full" | "refused_stream" | "reset" | "protocol";

/** Thrown when an endpoint gave no answer. */
export class UpstreamError extends Error {
  readonly code: UpstreamFault;
  /** Whether the endpoint can't have begun with the request. */
  readonly isUntouched: boolean;

  constructor(code: UpstreamFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UpstreamError";
    this.code = code;
    this.isUntouched = code === "connect" || code === "full" || code === "refused_stream";
  }
}
