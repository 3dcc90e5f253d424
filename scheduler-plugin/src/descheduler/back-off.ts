/** Controllers whose pods couldn't be evicted are left alone for a while, twice as long each time. */
export class BackOff {
  readonly #firstMs: number;
  readonly #refused = new Map<string, { readonly untilMs: number; readonly ms: number }>();

  constructor(firstMs: number) {
    this.#firstMs = firstMs;
  }

  refused(key: string, nowMs: number): void {
    const ms = Math.min((this.#refused.get(key)?.ms ?? this.#firstMs / 2) * 2, MAX_MS);
    this.#refused.set(key, { untilMs: nowMs + ms, ms });
  }

  accepted(key: string): void {
    this.#refused.delete(key);
  }

  /** Those that are left alone now. Forgets those that would begin anew. */
  current(nowMs: number): Set<string> {
    for (const [key, { untilMs, ms }] of this.#refused)
      if (nowMs > untilMs + ms * 2) this.#refused.delete(key);
    return new Set([...this.#refused].filter(([, { untilMs }]) => untilMs > nowMs).map(([key]) => key));
  }
}

const MAX_MS = 3_600_000;
