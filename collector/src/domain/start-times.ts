// When the counters of a target began to count. The text format doesn't say; without it the first value of a
// new series would be lost as a mere baseline. A series that the page before did not have began after that
// page, and one that fell began anew.
import { countsWithItsProcess, type TargetKind } from "./families.ts";

/** Two statements of the same start may differ by rounding and by the clock's corrections. */
const SAME_START_MS = 1_000;

/** What the pages of one target say about starts. */
export class StartTimes {
  readonly #kind: TargetKind;
  #previousMs: number | undefined;
  #previousProcessMs: number | undefined;
  #processMs: number | undefined;
  #scrapeMs = 0;

  constructor(kind: TargetKind) {
    this.#kind = kind;
  }

  /** Call before the lines of a page. */
  begin(scrapeMs: number): void {
    this.#scrapeMs = scrapeMs;
    this.#processMs = undefined;
  }

  /**
   * What the page says of its process; of several (a merged page has the agent's and the application's) the
   * oldest is taken.
   */
  process(startMs: number): void {
    if (!countsWithItsProcess(this.#kind) || !(startMs > 0 && startMs <= this.#scrapeMs)) return;
    this.#processMs = Math.min(this.#processMs ?? Infinity, startMs);
  }

  /**
   * True when the process is another one than at the page before: whatever its counters say, they began anew.
   */
  get beganAnew(): boolean {
    const beforeMs = this.#previousProcessMs;
    const nowMs = this.#processMs;
    if (nowMs === undefined || beforeMs === undefined || this.#previousMs === undefined) return false;
    return nowMs > this.#previousMs && nowMs > beforeMs + SAME_START_MS;
  }

  /**
   * Start of a series that the page before did not have; `createdMs` is what its own rows say, if they do. 0:
   * not known, a baseline.
   */
  ofNew(createdMs: number): number {
    if (createdMs > 0 && createdMs <= this.#scrapeMs) return createdMs;
    return this.#processMs ?? this.#previousMs ?? 0;
  }

  /** Start of a series that fell since the page before. */
  ofReset(): number {
    return Math.max(this.#processMs ?? 0, this.#previousMs ?? 0);
  }

  /** Call after the lines of a whole page; not for a page that was refused. */
  end(): void {
    this.#previousMs = this.#scrapeMs;
    this.#previousProcessMs = this.#processMs;
  }
}
