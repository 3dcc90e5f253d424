interface Samples {
  readonly values: { readonly atMs: number; readonly bitsPerSecond: number }[];
  seenMs: number;
}

interface Demand {
  /** Quantile over the window's samples; null: bytes are not counted. */
  readonly bitsPerSecond: number | null;
  readonly silentMs: number;
}

export class DemandHistory {
  readonly #windowMs: number;
  readonly #quantile: number;
  readonly #channels = new Map<string, Samples>();

  constructor(windowMs: number, quantile: number) {
    this.#windowMs = windowMs;
    this.#quantile = quantile;
  }

  /** @param bitsPerSecond null: the channel is in use, but its bytes are not counted */
  record(key: string, bitsPerSecond: number | null, nowMs: number): void {
    let samples = this.#channels.get(key);
    if (samples === undefined) this.#channels.set(key, (samples = { values: [], seenMs: nowMs }));
    samples.seenMs = nowMs;
    if (bitsPerSecond !== null) samples.values.push({ atMs: nowMs, bitsPerSecond });
  }

  demand(key: string, nowMs: number): Demand | null {
    const samples = this.#channels.get(key);
    if (samples === undefined) return null;
    const values = samples.values.map(({ bitsPerSecond }) => bitsPerSecond).sort((a, b) => a - b);
    const rank = Math.max(0, Math.ceil(this.#quantile * values.length) - 1);
    return { bitsPerSecond: values[rank] ?? null, silentMs: nowMs - samples.seenMs };
  }

  expire(nowMs: number): void {
    const startMs = nowMs - this.#windowMs;
    for (const [key, { values, seenMs }] of this.#channels) {
      const kept = values.findIndex(({ atMs }) => atMs >= startMs);
      values.splice(0, kept < 0 ? values.length : kept);
      if (seenMs < startMs) this.#channels.delete(key);
    }
  }

  clear(): void {
    this.#channels.clear();
  }
}
