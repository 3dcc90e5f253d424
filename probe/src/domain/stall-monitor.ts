import { Distribution } from "@isochrone/telemetry";
import type { ThreadSnapshot } from "../ports/ports.ts";

/**
 * For how long after a stall what waited in the kernel may still be read: those stamps are the stall's, not
 * the network's. Milliseconds.
 */
const SETTLE_MS = 2;

/**
 * The delay is kept as the worst of so long: a busy thread shows signs of life thousands of times a second.
 * Milliseconds.
 */
const RECORD_EVERY_MS = 8;

/**
 * Knows when the thread stood still, from signs of life: `beat`, which should come every `beatMs` (0:
 * whenever the thread isn't at rest), and `rest`, with which it announces that it lets itself be blocked, and
 * until when at the latest. A gap longer than the bound is a stall; so is the time since the last sign, for
 * those who ask while it goes on.
 */
export class StallMonitor {
  readonly #boundMs: number;
  readonly #beatMs: number;
  /** Until then the thread lived, or was at rest by its own will. */
  #aliveMs: number;
  /** When the next sign of life is due. */
  #dueMs: number;
  #worstDelayMs = 0;
  #recordAtMs: number;
  #stallEndMs = Number.NEGATIVE_INFINITY;
  #stallLengthMs = 0;
  #stalls = 0;
  #delay = new Distribution();

  constructor(boundMs: number, beatMs: number, nowMs: number) {
    this.#boundMs = boundMs;
    this.#beatMs = beatMs;
    this.#aliveMs = nowMs;
    this.#dueMs = nowMs + beatMs;
    this.#recordAtMs = nowMs + RECORD_EVERY_MS;
  }

  beat(nowMs: number): void {
    const gapMs = nowMs - this.#aliveMs;
    this.#worstDelayMs = Math.max(this.#worstDelayMs, nowMs - this.#dueMs);
    if (nowMs >= this.#recordAtMs) {
      this.#delay.record(this.#worstDelayMs / 1000);
      this.#worstDelayMs = 0;
      this.#recordAtMs = nowMs + RECORD_EVERY_MS;
    }
    if (gapMs > this.#boundMs) {
      this.#stalls++;
      this.#stallEndMs = nowMs;
      this.#stallLengthMs = gapMs;
    }
    this.#aliveMs = nowMs;
    this.#dueMs = nowMs + this.#beatMs;
  }

  /**
   * The thread waits for packets, until `untilMs` at the latest: that it shows no sign of life until then
   * says nothing.
   */
  rest(untilMs: number): void {
    this.#aliveMs = this.#dueMs = untilMs;
  }

  /**
   * How long the thread stood still just before `nowMs`, as far as it could have delayed a stamp taken now; 0
   * = it didn't.
   */
  stalledForMs(nowMs: number): number {
    const gapMs = nowMs - this.#aliveMs;
    if (gapMs > this.#boundMs) return gapMs;
    return nowMs - this.#stallEndMs <= SETTLE_MS ? this.#stallLengthMs : 0;
  }

  drain(): ThreadSnapshot {
    const snapshot = { loopDelay: this.#delay.toData(), stalls: this.#stalls };
    this.#delay = new Distribution();
    this.#stalls = 0;
    return snapshot;
  }
}
