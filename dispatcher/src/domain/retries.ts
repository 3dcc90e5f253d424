// Which requests may be sent again, and how many.

/** By RFC 9110 these ask for nothing to be changed. */
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);
/** Methods that have the same effect when done twice (RFC 9110, section 9.2.2). */
const IDEMPOTENT_METHODS = new Set([...SAFE_METHODS, "PUT", "DELETE"]);

/** Further tries of one request. */
const MAX_RETRIES = 2;
/**
 * Retries may be this share of a port's requests, beside a few at once: endpoints that fail must not get
 * more.
 */
const SHARE = 0.2;
const AT_ONCE = 10;

/** What a request has been through. */
interface Failed {
  readonly method: string;
  readonly retries: number;
  /** Whether the endpoint can't have begun with it. */
  readonly isUntouched: boolean;
  /** Whether a kept connection ended before any byte of an answer. */
  readonly isClosed: boolean;
  /** Whether a part of the body is gone. */
  readonly hasSentBody: boolean;
}

export function mayRetry({ method, retries, isUntouched, isClosed, hasSentBody }: Failed): boolean {
  if (retries >= MAX_RETRIES || hasSentBody) return false;
  return isUntouched || (isClosed ? isIdempotent(method) : SAFE_METHODS.has(method));
}

export function isIdempotent(method: string): boolean {
  return IDEMPOTENT_METHODS.has(method);
}

/** Whether HTTP lets a healthy endpoint do this. The endpoint may be asked again, and hasn't failed. */
export function isRegular(fault: string | null): boolean {
  return fault === "closed" || fault === "refused_stream";
}

/** Prefers endpoints that have not been tried to those that only ended a connection regularly. */
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

  /** False when too many were sent again of late. */
  take(): boolean {
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
