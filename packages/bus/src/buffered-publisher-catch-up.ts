import type { Random } from "@isochrone/runtime";

/** How fast a backlog goes out. */
interface CatchUpRate {
  readonly recordsPerSecond: number;
  readonly bytesPerSecond: number;
  /** The backlog begins to move after a random part of this, or of its age if that is less. */
  readonly spreadMs: number;
}

/** A backlog moves in steps of so long, so that its records still travel in batches. */
const STEP_MS = 200;

/**
 * The pace at which a backlog of an outage is sent. Every record that comes meanwhile lets one go out beside
 * the rate, since all go in order: so the backlog shrinks at the rate, however much comes, and what is live
 * never waits longer than what was before it.
 *
 * Records and bytes are two credits, of which the scarcer decides. Time is monotonic, in ms.
 */
export class CatchUp {
  readonly #spreadMs: number;
  readonly #random: Random;
  readonly #records: Credit;
  readonly #bytes: Credit;
  #isActive = false;
  /** In the future: when the backlog begins to move. */
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

  /** @param backlogAgeMs of its oldest record */
  begin(backlogAgeMs: number, nowMs: number): void {
    this.#isActive = true;
    for (const credit of [this.#records, this.#bytes]) credit.clear();
    // Thousands of publishers see the same broker come back: they must not all begin at once. A short outage
    // needs no long spread.
    this.#filledMs = nowMs + Math.min(this.#spreadMs, backlogAgeMs) * this.#random.next();
  }

  /** The bus was away again meanwhile: what came in that time is backlog too. */
  resume(nowMs: number): void {
    for (const credit of [this.#records, this.#bytes]) credit.clear();
    this.#filledMs = Math.max(this.#filledMs, nowMs);
  }

  end(): void {
    this.#isActive = false;
  }

  /** A record came. */
  came(bytes: number, nowMs: number): void {
    if (nowMs < this.#filledMs) return;
    this.#records.add(1);
    this.#bytes.add(bytes);
  }

  sent(records: number, bytes: number): void {
    this.#records.spend(records);
    this.#bytes.spend(bytes);
  }

  /** How long to wait before the next batch of `waiting` records; 0: it may go. */
  waitMs(waiting: number, nowMs: number): number {
    if (nowMs < this.#filledMs) return this.#filledMs - nowMs;
    for (const credit of [this.#records, this.#bytes]) credit.fill(nowMs - this.#filledMs);
    this.#filledMs = nowMs;
    const wanted = Math.max(1, Math.min(this.#records.step, waiting));
    return Math.ceil(Math.max(this.#records.msUntil(wanted), this.#bytes.msUntil(1)));
  }

  /**
   * What the next batch may have; a single record may always have more bytes, which the ones after it then
   * wait for.
   */
  bounds(): { readonly records: number; readonly bytes: number } {
    return { records: this.#records.whole, bytes: this.#bytes.whole };
  }
}

/** What may be sent: time fills it up to a step, what came adds to it without a bound. */
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

  /** Until so much is there if nothing more comes; 0 or less: it is. */
  msUntil(amount: number): number {
    return Math.max(0, ((amount - this.#timed - this.#came) / this.#perSecond) * 1000);
  }
}
