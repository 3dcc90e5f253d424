/**
 * Memory that the relay shares with its timer thread: bytes 0-7 the time to wake at (ms of the monotonic
 * clock), bytes 8-11 a number that changes with every new time.
 */
export class WakeSignal {
  readonly memory: SharedArrayBuffer;
  readonly #time: Float64Array;
  readonly #version: Int32Array;

  constructor(memory = new SharedArrayBuffer(16)) {
    this.memory = memory;
    this.#time = new Float64Array(memory, 0, 1);
    this.#version = new Int32Array(memory, 8, 1);
  }

  /** The relay's side. */
  set(timeMs: number): void {
    this.#time[0] = timeMs;
    Atomics.add(this.#version, 0, 1);
    Atomics.notify(this.#version, 0);
  }

  /**
   * The thread's side: blocks until the time of a `set` newer than `seen` has come, and returns that set's
   * version.
   */
  waitForNext(seen: number, monotonic: () => number): number {
    for (;;) {
      // The version is read before the time: a set in between makes the wait below return at once.
      const version = Atomics.load(this.#version, 0);
      const restMs = version === seen ? Infinity : this.#time[0]! - monotonic();
      if (restMs <= 0) return version;
      if (Atomics.wait(this.#version, 0, version, restMs) === "timed-out") return version;
    }
  }
}
