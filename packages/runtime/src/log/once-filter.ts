import type { Clock } from "../clock.ts";

const HOUR_MS = 3_600_000;

interface Entry {
  lastMs: number;
  suppressed: number;
}

export class OnceFilter {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #intervalMs: number;
  readonly #maxKeys: number;
  readonly #entries = new Map<string, Entry>();

  /**
   * @param options.intervalMs default an hour
   * @param options.maxKeys remembered keys, default 1,000; the least recently written is dropped first
   */
  constructor(options: {
    readonly clock: Pick<Clock, "monotonic">;
    readonly intervalMs?: number;
    readonly maxKeys?: number;
  }) {
    this.#clock = options.clock;
    this.#intervalMs = options.intervalMs ?? HOUR_MS;
    this.#maxKeys = options.maxKeys ?? 1000;
  }

  /** Null: suppress the line. Otherwise write it with the number of suppressed lines. */
  pass(key: string): { readonly suppressed: number } | null {
    const nowMs = this.#clock.monotonic();
    const entry = this.#entries.get(key);
    if (entry !== undefined && nowMs - entry.lastMs < this.#intervalMs) {
      entry.suppressed++;
      return null;
    }
    this.#entries.delete(key);
    this.#entries.set(key, { lastMs: nowMs, suppressed: 0 });
    if (this.#entries.size > this.#maxKeys) this.#forgetOldest();
    return { suppressed: entry?.suppressed ?? 0 };
  }

  // Insertion order is the order of last lines, because pass() reinserts keys.
  #forgetOldest(): void {
    const oldest = this.#entries.keys().next();
    if (!oldest.done) this.#entries.delete(oldest.value);
  }
}
