import type { Clock } from "@isochrone/runtime";

/** Pause after an unanswered review, so that an outage doesn't delay every request. */
const RETRY_MS = 1_000;

export class ApiServerState {
  readonly #clock: Clock;
  #isFailing = false;
  #nextTryMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** During an outage, allows one call per interval. */
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
