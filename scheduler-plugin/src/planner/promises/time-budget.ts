/** Share of time; also bounds the burst. */
const SHARE = 0.5;
const MOST_AT_ONCE_MS = 20;

/**
 * Token bucket for answers on the event loop, so that a burst of requests delays none for long. Counts CPU
 * time: a thread waiting for a core blocks nobody. Times are ms.
 */
export class TimeBudget {
  #spentMs = 0;
  #atMs = 0;

  isLeft(nowMs: number): boolean {
    this.#spentMs = Math.max(0, this.#spentMs - SHARE * (nowMs - this.#atMs));
    this.#atMs = nowMs;
    return this.#spentMs < MOST_AT_ONCE_MS;
  }

  spend(cpuMs: number): void {
    this.#spentMs += cpuMs;
  }
}
