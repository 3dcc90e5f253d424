import { Worker } from "node:worker_threads";
import type { WakeTimer } from "./delay-queue.ts";
import { WakeSignal } from "./wake-signal.ts";

/** More precise than setTimeout: a thread waits and posts a message. */
export class ThreadTimer implements WakeTimer {
  readonly #signal = new WakeSignal();
  readonly #worker: Worker;
  #armedMs = Infinity;

  /** `onWake` may come early, but is never lost. */
  constructor(onWake: () => void) {
    this.#worker = new Worker(new URL("timer-thread.ts", import.meta.url), {
      workerData: this.#signal.memory,
      execArgv: [],
    });
    this.#worker.on("message", () => {
      this.#armedMs = Infinity;
      onWake();
    });
    this.#worker.on("error", (error) => {
      throw error;
    });
  }

  wakeAt(timeMs: number): void {
    if (timeMs >= this.#armedMs) return;
    this.#armedMs = timeMs;
    this.#signal.set(timeMs);
  }
}
