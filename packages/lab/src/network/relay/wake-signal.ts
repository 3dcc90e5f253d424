/** Memory shared with the timer thread: bytes 0-7 wake time (monotonic ms), 8-11 version of the time. */
export class WakeSignal {
  readonly memory: SharedArrayBuffer;
  readonly #time: Float64Array;
  readonly #version: Int32Array;

  constructor(memory = new SharedArrayBuffer(16)) {
    this.memory = memory;
    this.#time = new Float64Array(memory, 0, 1);
    this.#version = new Int32Array(memory, 8, 1);
  }

  set(timeMs: number): void {
    this.#time[0] = timeMs;
    Atomics.add(this.#version, 0, 1);
    Atomics.notify(this.#version, 0);
  }

  /** Thread side: blocks until the time of a `set` newer than `seen`, and returns its version. */
  waitForNext(seen: number, monotonic: () => number): number {
    for (;;) {
      // Read the version before the time: a set in between makes the wait return at once.
      const version = Atomics.load(this.#version, 0);
      const restMs = version === seen ? Infinity : this.#time[0]! - monotonic();
      if (restMs <= 0) return version;
      if (Atomics.wait(this.#version, 0, version, restMs) === "timed-out") return version;
    }
  }
}
