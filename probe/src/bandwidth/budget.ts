const HOUR_MS = 3_600_000;

/** Sliding one-hour byte budget: spent bytes become available again exactly one hour later. */
export class HourBudget {
  readonly #bytesPerHour: number;
  #spent: { readonly atMs: number; readonly bytes: number }[] = [];

  constructor(bytesPerHour: number) {
    this.#bytesPerHour = bytesPerHour;
  }

  remaining(nowMs: number): number {
    this.#spent = this.#spent.filter(({ atMs }) => nowMs - atMs < HOUR_MS);
    const spent = this.#spent.reduce((total, { bytes }) => total + bytes, 0);
    return Math.max(0, this.#bytesPerHour - spent);
  }

  spend(nowMs: number, bytes: number): void {
    if (bytes > 0) this.#spent.push({ atMs: nowMs, bytes });
  }
}
