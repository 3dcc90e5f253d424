// Which requests may be sent again, and how many.

/** By RFC 9110 these ask for nothing to be changed. */
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);

/** Further endpoints for one request. */
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
  /** Whether a part of the body is gone. */
  readonly hasSentBody: boolean;
}

export function mayRetry({ method, retries, isUntouched, hasSentBody }: Failed): boolean {
  return retries < MAX_RETRIES && !hasSentBody && (isUntouched || SAFE_METHODS.has(method));
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
