// Start times of a target's counters. The text format lacks them, and without one the first value of a new
// series would be lost as a baseline. A series missing on the previous page began after it; one that fell
// restarted.
import { countsWithItsProcess, type TargetKind } from "./families.ts";

const SAME_START_MS = 1_000;

export class StartTimes {
  readonly #kind: TargetKind;
  #previousMs: number | undefined;
  #previousProcessMs: number | undefined;
  #processMs: number | undefined;
  #scrapeMs = 0;

  constructor(kind: TargetKind) {
    this.#kind = kind;
  }

  begin(scrapeMs: number): void {
    this.#scrapeMs = scrapeMs;
    this.#processMs = undefined;
  }

  /** Records the process start; the oldest of a merged page (agent and application) counts. */
  process(startMs: number): void {
    if (!countsWithItsProcess(this.#kind) || !(startMs > 0 && startMs <= this.#scrapeMs)) return;
    this.#processMs = Math.min(this.#processMs ?? Infinity, startMs);
  }

  /** True if the process differs from the previous page's, so its counters restarted. */
  get beganAnew(): boolean {
    const beforeMs = this.#previousProcessMs;
    const nowMs = this.#processMs;
    if (nowMs === undefined || beforeMs === undefined || this.#previousMs === undefined) return false;
    return nowMs > this.#previousMs && nowMs > beforeMs + SAME_START_MS;
  }

  /** Start of a new series; `createdMs`: from its rows. 0: unknown, a baseline. */
  ofNew(createdMs: number): number {
    if (createdMs > 0 && createdMs <= this.#scrapeMs) return createdMs;
    return this.#processMs ?? this.#previousMs ?? 0;
  }

  ofReset(): number {
    return Math.max(this.#processMs ?? 0, this.#previousMs ?? 0);
  }

  /** Call after a whole page, not after a refused one. */
  end(): void {
    this.#previousMs = this.#scrapeMs;
    this.#previousProcessMs = this.#processMs;
  }
}
