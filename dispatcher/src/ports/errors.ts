/**
 * Fault on the way to an endpoint. `closed`: a kept connection ended before any byte of an answer, as servers
 * end idle and aged ones.
 */
type UpstreamFault = "connect" | "full" | "refused_stream" | "closed" | "reset" | "protocol";

const UNTOUCHED: ReadonlySet<UpstreamFault> = new Set(["connect", "full", "refused_stream"]);

/** Thrown when an endpoint gave no answer. */
export class UpstreamError extends Error {
  readonly code: UpstreamFault;
  /** Whether the endpoint can't have begun with the request. */
  readonly isUntouched: boolean;

  constructor(
    code: UpstreamFault,
    message: string,
    { isUntouched = UNTOUCHED.has(code), ...options }: ErrorOptions & { readonly isUntouched?: boolean } = {},
  ) {
    super(message, options);
    this.name = "UpstreamError";
    this.code = code;
    this.isUntouched = isUntouched;
  }
}
