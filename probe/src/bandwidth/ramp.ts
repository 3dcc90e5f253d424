const MS = 1e6;
const FIRST_BITS_PER_SECOND = 4e6;
/** Slow steps last longer: they have few units, and a queue builds up long before its report is back. */
const SLOW_BITS_PER_SECOND = 64e6;
const SLOW_HOLD_NS = 24 * MS;
const FAST_HOLD_NS = 12 * MS;
const MIN_UNITS = 8;
/** A rate is tried only if the byte budget covers its step and this much more. */
const AFTER_STEP_NS = 40 * MS;
/** A sender that reached less than this share of the planned rate retries: its host may have stalled. */
const SENDER_SHARE = 0.75;
const ATTEMPTS = 5;

type RampState = "sending" | "waiting" | "rate_cap" | "sender" | "too_dear";

/** Doubles the rate per step, once half of the previous step arrived, so the sender can't outrun reports. */
export class Ramp {
  readonly #maxBitsPerSecond: number;
  readonly #unitBytes: number;
  #rate: number;
  #startNs = 0;
  #firstSequence = 0;
  readonly #rateStarts: number[] = [];
  #units = 0;
  #heldNs = Number.NaN;
  #attempt = 1;
  #bestRate = 0;

  constructor(maxBitsPerSecond: number, unitBytes: number) {
    this.#maxBitsPerSecond = maxBitsPerSecond;
    this.#unitBytes = unitBytes;
    this.#rate = Math.min(FIRST_BITS_PER_SECOND, maxBitsPerSecond);
  }

  get bitsPerSecond(): number {
    return this.#rate;
  }

  start(nowNs: number, sequence: number): void {
    this.#startNs = nowNs;
    this.#firstSequence = sequence;
    this.#units = 0;
    this.#heldNs = Number.NaN;
  }

  /** Units before this one were sent at a quarter of the current rate or less. */
  get lightBefore(): number {
    return this.#rateStarts.at(-2) ?? 0;
  }

  sent(units: number): void {
    this.#units += units;
  }

  /**
   * Moves on when the step is over. `reported` is the highest sequence that arrived. States `rate_cap` and
   * `sender`: cannot go faster. State `too_dear`: the remaining bytes do not suffice.
   */
  advance(nowNs: number, reported: number, bytesLeft: number): RampState {
    const hold = this.#rate <= SLOW_BITS_PER_SECOND ? SLOW_HOLD_NS : FAST_HOLD_NS;
    if (nowNs - this.#startNs < hold || this.#units < MIN_UNITS) return "sending";
    if (Number.isNaN(this.#heldNs)) this.#heldNs = nowNs - this.#startNs;
    if (reported < this.#firstSequence + this.#units / 2) return "waiting";
    const sentRate = (this.#units * this.#unitBytes * 8e9) / this.#heldNs;
    if (sentRate < SENDER_SHARE * this.#rate) return this.#tryAgain(nowNs, sentRate);
    this.#attempt = 1;
    this.#bestRate = 0;
    if (this.#rate >= this.#maxBitsPerSecond) return "rate_cap";
    const next = Math.min(this.#maxBitsPerSecond, this.#rate * 2);
    if (bytesLeft < (next * (FAST_HOLD_NS + AFTER_STEP_NS)) / 8e9) return "too_dear";
    this.#rate = next;
    this.#rateStarts.push(this.#firstSequence + this.#units);
    this.start(nowNs, this.#firstSequence + this.#units);
    return "sending";
  }

  #tryAgain(nowNs: number, sentRate: number): "sending" | "sender" {
    this.#bestRate = Math.max(this.#bestRate, sentRate);
    if (++this.#attempt > ATTEMPTS) {
      this.#rate = this.#bestRate;
      return "sender";
    }
    this.start(nowNs, this.#firstSequence + this.#units);
    return "sending";
  }
}
