/** `closed`: a kept connection ended before any byte of the response, as servers close idle and aged ones. */
type UpstreamFault = "connect" | "full" | "refused_stream" | "closed" | "reset" | "protocol";

const UNTOUCHED: ReadonlySet<UpstreamFault> = new Set(["connect", "full", "refused_stream"]);

export class UpstreamError extends Error {
  readonly code: UpstreamFault;
  /** The endpoint can't have started the request. */
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
