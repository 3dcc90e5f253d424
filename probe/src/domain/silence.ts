import { backoffMs } from "@isochrone/primitives";

/** Consecutive losses that make a socket silent: probability 1 in 100,000 at 30 % loss. */
const LOSSES = 10;
/** Minimum time between renewals, doubled while nothing answers: a dead peer costs few sockets. */
const BACKOFF = { initialMs: 5_000, maxMs: 300_000, factor: 2 };

/**
 * Decides when to replace a socket that loses everything by one with another port. A middlebox that pinned
 * the port to a dead path keeps the pin while packets arrive.
 */
export class Silence {
  readonly #random: () => number;
  #renewals = 0;
  #notBeforeMs = -Infinity;

  /** @param random uniform in [0, 1): half of each pause is random, because many flows fall silent at once */
  constructor(random: () => number) {
    this.#random = random;
  }

  heard(): void {
    this.#renewals = 0;
  }

  /** True once per pause if the socket should be replaced now. @param unanswered consecutive lost requests */
  isTooLong(unanswered: number, nowMs: number): boolean {
    if (unanswered < LOSSES || nowMs < this.#notBeforeMs) return false;
    this.#notBeforeMs = nowMs + backoffMs(BACKOFF, ++this.#renewals) * (0.5 + this.#random() / 2);
    return true;
  }
}
