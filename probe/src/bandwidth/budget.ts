const HOUR_MS = 3_600_000;

/** Bytes spent in the last hour, sliding: what was spent comes back an hour later, to the millisecond. */
export class HourBudget {
  readonly #bytesPerHour: number;
  #spent: { readonly atMs: number; readonly bytes: number }[] = [];

  constructor(bytesPerHour: number) {
    this.#bytesPerHour = bytesPerHour;
  }

  /** `nowMs`: any monotonic clock. */
  remaining(nowMs: number): number {
    this.#spent = this.#spent.filter(({ atMs }) => nowMs - atMs < HOUR_MS);
    const spent = this.#spent.reduce((total, { bytes }) => total + bytes, 0);
    return Math.max(0, this.#bytesPerHour - spent);
  }

  spend(nowMs: number, bytes: number): void {
    if (bytes > 0) this.#spent.push({ atMs: nowMs, bytes });
  }
}
