import type { Clock } from "@isochrone/runtime";

/**
 * After a review that got no answer, how long none is tried: an API server that is away shall not cost every
 * request its patience.
 */
const RETRY_MS = 1_000;

/** Whether the API server answers reviews. */
export class ApiServerState {
  readonly #clock: Clock;
  #isFailing = false;
  #nextTryMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether to ask now. While it fails, one call in each interval may. */
  mayAsk(): boolean {
    if (!this.#isFailing) return true;
    const nowMs = this.#clock.monotonic();
    if (nowMs < this.#nextTryMs) return false;
    this.#nextTryMs = nowMs + RETRY_MS;
    return true;
  }

  answered(): void {
    this.#isFailing = false;
  }

  failed(): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#nextTryMs = this.#clock.monotonic() + RETRY_MS;
  }
}
