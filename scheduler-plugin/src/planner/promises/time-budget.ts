/** Half of the time at most, and so much at once. */
const SHARE = 0.5;
const MOST_AT_ONCE_MS = 20;

/**
 * Bounds what answers may take of the event loop, so that none of many questions at once waits for long. What
 * they take is CPU time: on a busy machine a thread that waits for a core takes nothing from anybody. Times
 * are milliseconds.
 */
export class TimeBudget {
  #spentMs = 0;
  #atMs = 0;

  /** Whether there is time for another answer. @param nowMs monotonic */
  isLeft(nowMs: number): boolean {
    this.#spentMs = Math.max(0, this.#spentMs - SHARE * (nowMs - this.#atMs));
    this.#atMs = nowMs;
    return this.#spentMs < MOST_AT_ONCE_MS;
  }

  /** @param cpuMs of the thread */
  spend(cpuMs: number): void {
    this.#spentMs += cpuMs;
  }
}
