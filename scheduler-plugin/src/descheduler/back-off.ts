import { backoffMs, type BackoffGrowth } from "@isochrone/primitives";

export class BackOff {
  readonly #growth: BackoffGrowth;
  readonly #refused = new Map<string, { readonly untilMs: number; readonly times: number }>();

  constructor(firstMs: number) {
    this.#growth = { initialMs: firstMs, maxMs: MAX_MS, factor: 2 };
  }

  refused(key: string, nowMs: number): void {
    const times = (this.#refused.get(key)?.times ?? 0) + 1;
    this.#refused.set(key, { untilMs: nowMs + backoffMs(this.#growth, times), times });
  }

  accepted(key: string): void {
    this.#refused.delete(key);
  }

  /** Adjusts for a wall-clock step. */
  shift(stepMs: number): void {
    for (const [key, one] of this.#refused) this.#refused.set(key, { ...one, untilMs: one.untilMs + stepMs });
  }

  current(nowMs: number): Set<string> {
    for (const [key, { untilMs, times }] of this.#refused)
      if (nowMs > untilMs + backoffMs(this.#growth, times) * 2) this.#refused.delete(key);
    return new Set([...this.#refused].filter(([, { untilMs }]) => untilMs > nowMs).map(([key]) => key));
  }
}

const MAX_MS = 3_600_000;
