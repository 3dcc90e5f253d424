import type { Random } from "@isochrone/runtime";
import { IDEAL_PATH, type PathSettings } from "./settings.ts";

/** Like the relay: a frame waits at most this long for transmission, but 64 KiB may always wait. */
const QUEUE_MS = 100;
const MIN_QUEUE_BYTES = 65_536;
const NORMAL_CUT_OFF = 4;

/** Returned by `admit` instead of a time. */
export const NOT_ADMITTED = { lost: -1, cut: -2, queueFull: -3 } as const;

/** One direction between two nodes: decides whether, when and how a frame is delivered. */
export class WirePath {
  duplicated = false;
  corrupted = false;
  readonly #random: Random;
  #settings: PathSettings = IDEAL_PATH;
  #queueBytes = Infinity;
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
    // New frames may overtake those with the old delay.
    this.#lastDueMs = -Infinity;
    const { queueBytes, bandwidthBitsPerSecond } = settings;
    this.#queueBytes =
      queueBytes ?? Math.max(MIN_QUEUE_BYTES, (QUEUE_MS * (bandwidthBitsPerSecond ?? Infinity)) / 8000);
  }

  /** Delivery time of a frame on the same clock (ms), or one of {@link NOT_ADMITTED}. */
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

  /** End of transmission; negative: no room. A bucket passes `burstBytes` at once, else frames serialise. */
  #putOnWire(bytes: number, nowMs: number): number {
    const { bandwidthBitsPerSecond: rate, burstBytes } = this.#settings;
    if (rate === null) return nowMs;
    const msPerByte = 8000 / rate;
    const waitingMs = Math.max(0, this.#wireFreeAtMs - nowMs);
    if (waitingMs / msPerByte + bytes > this.#queueBytes + burstBytes) return -1;
    this.#wireFreeAtMs = nowMs + waitingMs + bytes * msPerByte;
    return Math.max(nowMs, this.#wireFreeAtMs - burstBytes * msPerByte);
  }

  /** Gilbert model (lose all, lose nothing), with transition probabilities from ratio and mean length. */
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

  /** Box-Muller transform. */
  #normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.#random.next()));
    return radius * Math.cos(2 * Math.PI * this.#random.next());
  }

  /** Keeps the order even without jitter: errors of entry times would swap packets of one burst. */
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
