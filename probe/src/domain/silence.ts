import { backoffMs } from "@isochrone/primitives";

/** Losses in a row after which a socket counts as silent: chance does it once in 100,000 at 30 % loss. */
const LOSSES = 10;
/** Least time between two renewals, doubled while nothing answers: a dead peer costs few sockets. */
const BACKOFF = { initialMs: 5_000, maxMs: 300_000, factor: 2 };

/**
 * Decides when a socket that loses everything is replaced by one with another port. A middlebox that has
 * pinned the port to a dead path keeps the pin for as long as packets come.
 */
export class Silence {
  readonly #random: () => number;
  #renewals = 0;
  #notBeforeMs = -Infinity;

  /** @param random uniform in [0, 1): half of each pause is random, because many flows fall silent at once */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Ends the silence: a packet has come through, whatever it was worth. */
  heard(): void {
    this.#renewals = 0;
  }

  /**
   * Whether the socket is to be replaced now; true once per pause.
   * @param unanswered requests in a row that are lost
   */
  isTooLong(unanswered: number, nowMs: number): boolean {
    if (unanswered < LOSSES || nowMs < this.#notBeforeMs) return false;
    this.#notBeforeMs = nowMs + backoffMs(BACKOFF, ++this.#renewals) * (0.5 + this.#random() / 2);
    return true;
  }
}
