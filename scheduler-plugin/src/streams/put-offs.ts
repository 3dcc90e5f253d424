import { DEFAULT_BACKOFF, delayMs } from "@isochrone/runtime";
import type { Clock, Random } from "@isochrone/runtime";

interface PutOff {
  readonly message: string;
  readonly failures: number;
  readonly untilMs: number;
}

const BACKOFF = { ...DEFAULT_BACKOFF, initialMs: 2_000, maxMs: 300_000 };
/** A job without failures for this long starts over. */
const FORGET_MS = 600_000;

export class PutOffs {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #putOffs = new Map<string, PutOff>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  add(uid: string, message: string): void {
    const nowMs = this.#clock.monotonic();
    const before = this.#putOffs.get(uid);
    const failures = before === undefined || nowMs - before.untilMs > FORGET_MS ? 1 : before.failures + 1;
    this.#putOffs.set(uid, { message, failures, untilMs: nowMs + delayMs(BACKOFF, failures, this.#random) });
  }

  of(uid: string): string | null {
    const found = this.#putOffs.get(uid);
    return found === undefined || found.untilMs <= this.#clock.monotonic() ? null : found.message;
  }

  keep(uids: ReadonlySet<string>): void {
    for (const uid of this.#putOffs.keys()) if (!uids.has(uid)) this.#putOffs.delete(uid);
  }
}
