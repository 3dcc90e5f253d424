import type { Tally } from "./tally.ts";

export interface Sample {
  /** From right before the send to the answer in hand, by this thread's clock. */
  readonly applicationMs: number;
  /** As above, from the planned send time. */
  readonly plannedMs: number;
  /** Between the kernel's stamps of departure and arrival; NaN if one is missing. */
  readonly kernelMs: number;
  readonly residenceMs: number;
  readonly stalled: boolean;
}

/** Error of the claimed residence: the responder states it before the packet has left. */
const RESIDENCE_ERROR_MS = 0.02;
/** Resolution limit: smaller times cannot be told from zero by microsecond clocks. */
const LEAST_MS = 0.001;

export class Samples {
  readonly #tally: Tally;
  #warmup: number;

  /** @param warmup untimed first answers: they include address resolution, routes and cold caches */
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
    // The kernel's stamps are wall time and may step: accepted only if within the monotonic interval.
    const byKernel = kernelMs >= 0 && kernelMs <= applicationMs;
    if (stalled && !byKernel) {
      this.#tally.discard("thread_stalled");
      return;
    }
    const networkMs = (byKernel ? kernelMs : applicationMs) - residenceMs;
    // A claimed residence above the round trip is a lie or a broken clock.
    if (networkMs < -RESIDENCE_ERROR_MS) {
      this.#tally.discard("bad_residence");
      return;
    }
    this.#tally.record(Math.max(LEAST_MS, networkMs) / 1000);
    this.#tally.countStamp(byKernel ? "kernel" : "user");
    // A stall of this thread is not the application's time; the kernel's stamps exclude it.
    if (!stalled) this.#tally.recordApplication(applicationMs / 1000, plannedMs / 1000);
  }
}
