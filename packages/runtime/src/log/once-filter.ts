import type { Clock } from "../clock.ts";

const HOUR_MS = 3_600_000;

interface Entry {
  lastMs: number;
  suppressed: number;
}

/** Lets a key through once per interval and counts what it holds back. */
export class OnceFilter {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #intervalMs: number;
  readonly #maxKeys: number;
  readonly #entries = new Map<string, Entry>();

  /**
   * @param options.intervalMs default an hour
   * @param options.maxKeys keys remembered, default 1,000; the one that has not been written for longest is
   * forgotten first
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

  /** Null: hold the line back. Otherwise write it, with the number of lines held back since the last one. */
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

  // Entries stand in the order of their last line, because pass() takes a key out before it puts it in.
  #forgetOldest(): void {
    const oldest = this.#entries.keys().next();
    if (!oldest.done) this.#entries.delete(oldest.value);
  }
}
