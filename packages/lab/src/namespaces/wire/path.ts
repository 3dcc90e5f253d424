import type { Random } from "@isochrone/runtime";
import { IDEAL_PATH, type PathSettings } from "./settings.ts";

/** As the relay's: a frame waits at most this long for its turn on the wire, but 64 KiB may always wait. */
const QUEUE_MS = 100;
const MIN_QUEUE_BYTES = 65_536;
const NORMAL_CUT_OFF = 4;

/** What `admit` returns instead of a time. */
export const NOT_ADMITTED = { lost: -1, cut: -2, queueFull: -3 } as const;

/**
 * The way from one node to another: decides when a frame that enters comes out, whether it does, and in what
 * state.
 */
export class WirePath {
  /** Of the frame admitted last: it arrives twice. */
  duplicated = false;
  /** Of the frame admitted last: it must be changed. */
  corrupted = false;
  readonly #random: Random;
  #settings: PathSettings = IDEAL_PATH;
  #queueBytes = Infinity;
  /** When the last bit of what has entered so far is on the wire, had there been no bucket. */
  #wireFreeAtMs = -Infinity;
  #lastDueMs = -Infinity;
  #inBurst = false;

  constructor(settings: PathSettings, random: Random) {
    this.#random = random;
    this.change(settings, 0);
  }

  get settings(): PathSettings {
    return this.#settings;
  }

  change(settings: PathSettings, nowMs: number): void {
    this.#settings = settings;
    this.#wireFreeAtMs = Math.min(this.#wireFreeAtMs, nowMs);
    // What comes now may overtake what is under way at the old delay.
    this.#lastDueMs = -Infinity;
    const { queueBytes, bandwidthBitsPerSecond } = settings;
    this.#queueBytes =
      queueBytes ?? Math.max(MIN_QUEUE_BYTES, (QUEUE_MS * (bandwidthBitsPerSecond ?? Infinity)) / 8000);
  }

  /**
   * When a frame that entered at `nowMs` comes out, in ms of the same clock, or one of {@link NOT_ADMITTED}.
   */
  admit(bytes: number, nowMs: number): number {
    this.duplicated = this.corrupted = false;
    const { cut, corruptRatio, duplicateRatio } = this.#settings;
    if (cut) return NOT_ADMITTED.cut;
    const sentMs = this.#putOnWire(bytes, nowMs);
    if (sentMs < 0) return NOT_ADMITTED.queueFull;
    if (this.#isLost()) return NOT_ADMITTED.lost;
    this.duplicated = this.#draw(duplicateRatio);
    this.corrupted = this.#draw(corruptRatio);
    return this.#arrivalMs(sentMs);
  }

  /**
   * When the last bit is out; below 0: no room. A bucket lets `burstBytes` worth of wire time pass at once,
   * so that without one this is a line that sends frame after frame.
   */
  #putOnWire(bytes: number, nowMs: number): number {
    const { bandwidthBitsPerSecond: rate, burstBytes } = this.#settings;
    if (rate === null) return nowMs;
    const msPerByte = 8000 / rate;
    const waitingMs = Math.max(0, this.#wireFreeAtMs - nowMs);
    if (waitingMs / msPerByte + bytes > this.#queueBytes + burstBytes) return -1;
    this.#wireFreeAtMs = nowMs + waitingMs + bytes * msPerByte;
    return Math.max(nowMs, this.#wireFreeAtMs - burstBytes * msPerByte);
  }

  /**
   * With bursts: two states, one losing all, the other nothing, left with the probabilities that give ratio
   * and mean length.
   */
  #isLost(): boolean {
    const { lossRatio, lossBurstPackets } = this.#settings;
    if (lossBurstPackets === null || lossRatio === 0 || lossRatio === 1) return this.#draw(lossRatio);
    const end = 1 / lossBurstPackets;
    const begin = (end * lossRatio) / (1 - lossRatio);
    this.#inBurst = this.#inBurst ? !this.#draw(end) : this.#draw(begin);
    return this.#inBurst;
  }

  #jitterMs(): number {
    const { jitterMs, jitterDistribution } = this.#settings;
    if (jitterMs === 0) return 0;
    if (jitterDistribution === "uniform") return (2 * this.#random.next() - 1) * jitterMs;
    return Math.max(-NORMAL_CUT_OFF, Math.min(NORMAL_CUT_OFF, this.#normal())) * jitterMs;
  }

  /** Box and Muller's transform of two even draws. */
  #normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.#random.next()));
    return radius * Math.cos(2 * Math.PI * this.#random.next());
  }

  /**
   * Without jitter the order is kept too: entry times have errors that would exchange packets of one burst.
   */
  #arrivalMs(sentMs: number): number {
    const { delayMs, jitterMs, keepOrder, reorderRatio, reorderDelayMs } = this.#settings;
    const dueMs = sentMs + Math.max(0, delayMs + this.#jitterMs());
    if (this.#draw(reorderRatio)) return dueMs + reorderDelayMs;
    if (!keepOrder && jitterMs > 0) return dueMs;
    this.#lastDueMs = Math.max(dueMs, this.#lastDueMs);
    return this.#lastDueMs;
  }

  #draw(ratio: number): boolean {
    return ratio > 0 && this.#random.next() < ratio;
  }
}
