import type { Random } from "@isochrone/runtime";

interface CatchUpRate {
  readonly recordsPerSecond: number;
  readonly bytesPerSecond: number;
  /** The backlog waits for a random part of this, or of its age if that is less. */
  readonly spreadMs: number;
}

/** Step of the backlog, so that records still form batches. */
const STEP_MS = 200;

/**
 * Paces the backlog of an outage. Each new record allows one more beyond the rate, because order is kept. So
 * the backlog shrinks at the rate, whatever arrives, and new records wait only for earlier ones.
 * Records and bytes are two credits; the scarcer decides. Monotonic milliseconds.
 */
export class CatchUp {
  readonly #spreadMs: number;
  readonly #random: Random;
  readonly #records: Credit;
  readonly #bytes: Credit;
  #isActive = false;
  /** May be in the future: start of the backlog. */
  #filledMs = 0;

  constructor({ recordsPerSecond, bytesPerSecond, spreadMs }: CatchUpRate, random: Random) {
    this.#spreadMs = spreadMs;
    this.#random = random;
    this.#records = new Credit(recordsPerSecond);
    this.#bytes = new Credit(bytesPerSecond);
  }

  get isActive(): boolean {
    return this.#isActive;
  }

  /** @param backlogAgeMs age of the oldest record */
  begin(backlogAgeMs: number, nowMs: number): void {
    this.#isActive = true;
    for (const credit of [this.#records, this.#bytes]) credit.clear();
    // Thousands of publishers see the broker return at once, so they start at random times. A short outage
    // needs a short spread.
    this.#filledMs = nowMs + Math.min(this.#spreadMs, backlogAgeMs) * this.#random.next();
  }

  /** Continues after a second outage. Records that arrived meanwhile join the backlog. */
  resume(nowMs: number): void {
    for (const credit of [this.#records, this.#bytes]) credit.clear();
    this.#filledMs = Math.max(this.#filledMs, nowMs);
  }

  end(): void {
    this.#isActive = false;
  }

  came(bytes: number, nowMs: number): void {
    if (nowMs < this.#filledMs) return;
    this.#records.add(1);
    this.#bytes.add(bytes);
  }

  sent(records: number, bytes: number): void {
    this.#records.spend(records);
    this.#bytes.spend(bytes);
  }

  /** Milliseconds until the next batch of `waiting` records; 0: send now. */
  waitMs(waiting: number, nowMs: number): number {
    if (nowMs < this.#filledMs) return this.#filledMs - nowMs;
    for (const credit of [this.#records, this.#bytes]) credit.fill(nowMs - this.#filledMs);
    this.#filledMs = nowMs;
    const wanted = Math.max(1, Math.min(this.#records.step, waiting));
    return Math.ceil(Math.max(this.#records.msUntil(wanted), this.#bytes.msUntil(1)));
  }

  /** Limits of the next batch. A single record may exceed the bytes; later ones then wait. */
  bounds(): { readonly records: number; readonly bytes: number } {
    return { records: this.#records.whole, bytes: this.#bytes.whole };
  }
}

/** A credit. Time fills it up to one step; new records add without a limit. */
class Credit {
  readonly step: number;
  readonly #perSecond: number;
  #timed = 0;
  #came = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.step = Math.max(1, (perSecond * STEP_MS) / 1000);
  }

  /** At least 1. */
  get whole(): number {
    return Math.max(1, Math.floor(this.#timed + this.#came));
  }

  clear(): void {
    this.#timed = 0;
    this.#came = 0;
  }

  fill(ms: number): void {
    this.#timed = Math.min(this.step, this.#timed + (this.#perSecond * ms) / 1000);
  }

  add(amount: number): void {
    this.#came += amount;
  }

  spend(amount: number): void {
    const ofWhatCame = Math.min(amount, this.#came);
    this.#came -= ofWhatCame;
    this.#timed -= amount - ofWhatCame;
  }

  /** Milliseconds until `amount` is available without new records; 0 or less: it is. */
  msUntil(amount: number): number {
    return Math.max(0, ((amount - this.#timed - this.#came) / this.#perSecond) * 1000);
  }
}
