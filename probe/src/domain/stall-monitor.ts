import { Distribution } from "@isochrone/telemetry";
import type { ThreadSnapshot } from "../ports/ports.ts";

/** Time after a stall in which packets may be read whose stamps include the stall. Milliseconds. */
const SETTLE_MS = 2;

/** Records the worst delay per period: a busy thread beats thousands of times per second. Milliseconds. */
const RECORD_EVERY_MS = 8;

/**
 * Detects stalls of the thread. `beat` is expected every `beatMs` (0: whenever the thread is not resting),
 * and `rest` announces a deliberate wait and its latest end. A gap above the bound is a stall, as is the time
 * since the last beat while a stall continues.
 */
export class StallMonitor {
  readonly #boundMs: number;
  readonly #beatMs: number;
  /** Until then the thread was running or resting. */
  #aliveMs: number;
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

  /** Announces a wait for packets until `untilMs` at the latest; no beat is expected until then. */
  rest(untilMs: number): void {
    this.#aliveMs = this.#dueMs = untilMs;
  }

  /** Length of the stall just before `nowMs`, if it could have delayed a stamp taken now; else 0. */
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
