/** Safe methods by RFC 9110. */
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);
/** Idempotent methods (RFC 9110, section 9.2.2). */
const IDEMPOTENT_METHODS = new Set([...SAFE_METHODS, "PUT", "DELETE"]);

const MAX_RETRIES = 2;
/** Share of a port's requests that may be retries, plus a burst: failing endpoints must not get more load. */
const SHARE = 0.2;
const AT_ONCE = 10;

interface Failed {
  readonly method: string;
  readonly retries: number;
  /** The endpoint can't have started it. */
  readonly isUntouched: boolean;
  /** A kept connection ended before any byte of the response. */
  readonly isClosed: boolean;
  readonly hasSentBody: boolean;
}

export function mayRetry({ method, retries, isUntouched, isClosed, hasSentBody }: Failed): boolean {
  if (retries >= MAX_RETRIES || hasSentBody) return false;
  return isUntouched || (isClosed ? isIdempotent(method) : SAFE_METHODS.has(method));
}

export function isIdempotent(method: string): boolean {
  return IDEMPOTENT_METHODS.has(method);
}

/** True if HTTP allows a healthy endpoint to do this: no failure, and it may be retried there. */
export function isRegular(fault: string | null): boolean {
  return fault === "closed" || fault === "refused_stream";
}

export function afterTries<E extends { readonly id: string }>(
  all: readonly E[],
  tries: readonly { readonly endpoint: string; readonly fault: string | null }[],
): readonly E[] {
  const tried = new Set(tries.map(({ endpoint }) => endpoint));
  const failed = new Set(tries.filter(({ fault }) => !isRegular(fault)).map(({ endpoint }) => endpoint));
  const untried = all.filter(({ id }) => !tried.has(id));
  return untried.length > 0 ? untried : all.filter(({ id }) => !failed.has(id));
}

export class RetryBudget {
  #left = AT_ONCE;

  requested(): void {
    this.#left = Math.min(AT_ONCE, this.#left + SHARE);
  }

  take(): boolean {
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
