import { Distribution } from "@isochrone/telemetry";
import type { ThreadSnapshot } from "../ports.ts";

/** For how long after a stall what waited in the kernel may still be read: those stamps are the stall's, not the network's. Milliseconds. */
const SETTLE_MS = 2;

/**
 * Knows when the thread stood still, from a beat that should come every `beatMs`. A gap between two beats longer than the bound
 * is a stall; so is the time since the last beat, for those who ask while it goes on.
 */
export class StallMonitor {
  readonly #boundMs: number;
  readonly #beatMs: number;
  #lastBeatMs: number;
  #stallEndMs = Number.NEGATIVE_INFINITY;
  #stallLengthMs = 0;
  #stalls = 0;
  #delay = new Distribution();

  constructor(boundMs: number, beatMs: number, nowMs: number) {
    this.#boundMs = boundMs;
    this.#beatMs = beatMs;
    this.#lastBeatMs = nowMs;
  }

  beat(nowMs: number): void {
    const gapMs = nowMs - this.#lastBeatMs;
    this.#delay.record(Math.max(0, gapMs - this.#beatMs) / 1000);
    if (gapMs > this.#boundMs) {
      this.#stalls++;
      this.#stallEndMs = nowMs;
      this.#stallLengthMs = gapMs;
    }
    this.#lastBeatMs = nowMs;
  }

  /** How long the thread stood still just before `nowMs`, as far as it could have delayed a stamp taken now; 0 = it didn't. */
  stalledForMs(nowMs: number): number {
    const gapMs = nowMs - this.#lastBeatMs;
    if (gapMs > this.#boundMs) return gapMs;
    return nowMs - this.#stallEndMs <= SETTLE_MS ? this.#stallLengthMs : 0;
  }

  take(): ThreadSnapshot {
    const snapshot = { loopDelay: this.#delay.toData(), stalls: this.#stalls };
    this.#delay = new Distribution();
    this.#stalls = 0;
    return snapshot;
  }
}
