import { setImmediate } from "node:timers/promises";
import type { Clock } from "@isochrone/runtime";

/** Work yields after this time, because kube-scheduler calls this process too. */
const SLICE_MS = 10;

export class Turns {
  readonly #clock: Pick<Clock, "monotonic">;
  #beganMs: number;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
    this.#beganMs = clock.monotonic();
  }

  async next(): Promise<void> {
    if (this.#clock.monotonic() - this.#beganMs < SLICE_MS) return;
    await setImmediate();
    this.#beganMs = this.#clock.monotonic();
  }
}
