import type { Tally } from "./tally.ts";

/** The times of one received answer, ms. */
export interface Sample {
  /** From right before the send to the answer in hand, by this thread's clock. */
  readonly applicationMs: number;
  /** The same from the planned send. */
  readonly plannedMs: number;
  /** Between the kernel's stamps of departure and arrival; NaN when one is missing. */
  readonly kernelMs: number;
  /** What the responder says of itself. */
  readonly residenceMs: number;
  /** Whether this thread stood still before it took its time. */
  readonly stalled: boolean;
}

/**
 * A responder states its residence before the packet has left: by what it takes to send, it may be wrong by
 * so much.
 */
const RESIDENCE_ERROR_MS = 0.02;
/** Less can't be told from nothing: two hosts that are one, by clocks of a microsecond. */
const LEAST_MS = 0.001;

/** Decides which of an answer's times can be trusted, and records those. */
export class Samples {
  readonly #tally: Tally;
  #warmup: number;

  /** The first `warmup` answers aren't timed: they pay for address resolution, routes and caches. */
  constructor(tally: Tally, warmup: number) {
    this.#tally = tally;
    this.#warmup = warmup;
  }

  record({ applicationMs, plannedMs, kernelMs, residenceMs, stalled }: Sample): void {
    if (this.#warmup > 0) {
      this.#warmup--;
      this.#tally.discard("warmup");
      return;
    }
    // The kernel's clock is the wall clock and may step: its time counts only if it lies within what the
    // monotonic clock saw.
    const byKernel = kernelMs >= 0 && kernelMs <= applicationMs;
    if (stalled && !byKernel) {
      this.#tally.discard("thread_stalled");
      return;
    }
    const networkMs = (byKernel ? kernelMs : applicationMs) - residenceMs;
    // A responder that claims to have held the packet for longer than the round trip took lies, or its clock
    // is broken.
    if (networkMs < -RESIDENCE_ERROR_MS) {
      this.#tally.discard("bad_residence");
      return;
    }
    this.#tally.record(Math.max(LEAST_MS, networkMs) / 1000);
    this.#tally.countStamp(byKernel ? "kernel" : "user");
    // What the thread's own stall added is no program's time; the kernel's stamps don't know of it.
    if (!stalled) this.#tally.recordApplication(applicationMs / 1000, plannedMs / 1000);
  }
}
