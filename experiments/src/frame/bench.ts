// Runs measurements without a stored result, and stores each result at once.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { openStore, type Hashed } from "./store.ts";

export interface BenchOptions {
  readonly onProgress: (progress: RunProgress) => void;
  readonly signal: AbortSignal;
}

export interface RunProgress {
  /** Finished share of the work, 0 to 1. */
  readonly share: number;
  readonly done: number;
  readonly total: number;
  /** Null: no measurement yet to estimate from. */
  readonly secondsLeft: number | null;
  readonly what: string;
}

export interface Measurement<R extends Hashed> {
  /** Hash of everything that the result depends on. Equal hashes identify the same result. */
  readonly hash: string;
  readonly what: string;
  readonly weight?: number;
  /** Returns null if the measurement is impossible. */
  measure(): Promise<R | null> | R | null;
}

export class Bench {
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly #onProgress: BenchOptions["onProgress"];
  #measured = 0;

  constructor(folder: string, { signal, onProgress }: BenchOptions) {
    this.folder = folder;
    this.signal = signal;
    this.#onProgress = onProgress;
  }

  get measured(): number {
    return this.#measured;
  }

  /**
   * Returns results in the order of the measurements. Rejects with the abort reason; the next run continues.
   */
  async run<R extends Hashed>(
    file: string,
    measurements: readonly Measurement<R>[],
    jobs = 1,
  ): Promise<readonly R[]> {
    const store = openStore<R>(join(this.folder, file));
    const missing = measurements.filter(({ hash }) => !store.known.has(hash));
    const progress = new Progress(missing, this.#onProgress);
    const queue = missing.toReversed();
    const work = async (): Promise<void> => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        this.signal.throwIfAborted();
        progress.begin(next);
        // Lets signals and the progress line run.
        await setImmediate();
        const result = await next.measure();
        if (result !== null) {
          store.add(result);
          this.#measured++;
        }
        progress.end(next);
      }
    };
    await Promise.all(Array.from({ length: Math.min(jobs, missing.length) }, work));
    return measurements.flatMap(({ hash }) => store.known.get(hash) ?? []);
  }
}

class Progress {
  readonly #total: number;
  readonly #totalWeight: number;
  readonly #report: BenchOptions["onProgress"];
  readonly #beganMs = performance.now();
  #done = 0;
  #doneWeight = 0;

  constructor(missing: readonly Weighted[], report: BenchOptions["onProgress"]) {
    this.#total = missing.length;
    this.#totalWeight = missing.reduce((sum, { weight = 1 }) => sum + weight, 0);
    this.#report = report;
  }

  begin({ what }: Weighted): void {
    const share = this.#doneWeight / this.#totalWeight;
    const seconds = (performance.now() - this.#beganMs) / 1_000;
    const secondsLeft = this.#done === 0 ? null : (seconds * (1 - share)) / share;
    this.#report({ done: this.#done, total: this.#total, share, secondsLeft, what });
  }

  end({ weight = 1 }: Weighted): void {
    this.#done++;
    this.#doneWeight += weight;
  }
}

type Weighted = Pick<Measurement<Hashed>, "what" | "weight">;

export function hashOf(parts: unknown, digits = 16): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, digits);
}

/** Combines points (outer loop), runs (from 0) and contenders (inner loop). */
export function combinations<P, C, T>(
  { points, runs, contenders }: { points: readonly P[]; runs: number; contenders: readonly C[] },
  make: (point: P, run: number, contender: C) => T,
): T[] {
  return points.flatMap((point) =>
    Array.from({ length: runs }, (_, run) =>
      contenders.map((contender) => make(point, run, contender)),
    ).flat(),
  );
}
