import { delayMs, type BackoffDelays, type Clock, type Logger, type Random } from "@isochrone/runtime";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { Coordinates } from "./domain/coordinates.ts";
import { fitInputOf, sameInput, sampleLinks, type FitInput } from "./domain/coordinate-samples.ts";
import { CoordinateError, type CoordinateErrorCode } from "../ports/errors.ts";
import type { CoordinateFit, CoordinateFitter } from "../ports/ports.ts";

interface CoordinateKeeperOptions {
  readonly fitter: CoordinateFitter;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly intervalMs: number;
  readonly maxAgeMs: number;
}

export const FIT_RESULTS = ["ok", "unchanged", "failed", "timeout", "crashed"] as const;
type FitResult = (typeof FIT_RESULTS)[number];

const RESULT_OF: Readonly<Record<CoordinateErrorCode, FitResult>> = {
  coordinate_fit_failed: "failed",
  coordinate_fit_timeout: "timeout",
  coordinate_thread_died: "crashed",
};

interface FitCounts {
  readonly results: Readonly<Record<FitResult, number>>;
  readonly rejected: ReadonlyMap<string, number>;
}

const BACKOFF: BackoffDelays = { initialMs: 1000, maxMs: 300_000, factor: 2, jitterRatio: 0.5 };
/** Share of measured pairs gained or lost that triggers an early fit, because new nodes need coordinates. */
const GROWTH = 0.1;
/** Minimum pause between two fits, as a share of the interval. */
const MIN_PAUSE_RATIO = 1 / 8;
/** Minimum rest of the thread, as a multiple of its last run. */
const REST_FACTOR = 4;

interface Kept {
  readonly coordinates: Coordinates;
  /** Sampling time on the monotonic clock, so that clock steps do not expire a model. */
  readonly sampledMs: number;
}

/** Keeps the newest coordinates. Refits them in a worker thread when the graphs' samples have changed. */
export class CoordinateKeeper {
  readonly #options: CoordinateKeeperOptions;
  readonly #results: Record<FitResult, number> = { ok: 0, unchanged: 0, failed: 0, timeout: 0, crashed: 0 };
  readonly #rejected = new Map<string, number>();
  readonly #onFit: ((durationMs: number) => void)[] = [];
  #kept: Kept | null = null;
  #lastInput: FitInput | null = null;
  #lastLinks = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  #restMs = 0;
  #retryMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #running: Promise<void> | null = null;
  #closed = false;

  constructor(options: CoordinateKeeperOptions) {
    this.#options = options;
  }

  get counts(): FitCounts {
    return { results: this.#results, rejected: this.#rejected };
  }

  /** Returns null before the first fit, and when the last one has expired. */
  current(): Coordinates | null {
    const kept = this.#kept;
    return kept === null || this.ageMs()! > this.#options.maxAgeMs ? null : kept.coordinates;
  }

  /** Age of the last fit's samples in ms, including expired fits; null before the first. */
  ageMs(): number | null {
    return this.#kept === null ? null : this.#options.clock.monotonic() - this.#kept.sampledMs;
  }

  onFit(listener: (durationMs: number) => void): void {
    this.#onFit.push(listener);
  }

  /** Receives each new graph. Starts a fit if one is due, and returns immediately. */
  offer(graph: ClusterGraphSnapshot): void {
    const nowMs = this.#options.clock.monotonic();
    if (this.#closed || this.#running !== null || nowMs < this.#retryMs || !this.#mayFit(nowMs)) return;
    const links = sampleLinks(graph);
    if (links === 0 || !this.#isDue(links, nowMs)) return;
    const input = fitInputOf(graph);
    this.#lastLinks = links;
    if (this.#lastInput !== null && this.#failures === 0 && sameInput(this.#lastInput, input)) {
      this.#results.unchanged++;
      this.#lastMs = nowMs;
      return;
    }
    this.#running = this.#fit(input, Date.parse(graph.observedAt), nowMs).finally(() => {
      this.#running = null;
    });
  }

  async settled(): Promise<void> {
    await this.#running;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#options.fitter.close();
    await this.#running;
  }

  #mayFit(nowMs: number): boolean {
    const pauseMs = Math.max(this.#restMs, this.#options.intervalMs * MIN_PAUSE_RATIO);
    return nowMs - this.#lastMs >= pauseMs;
  }

  #isDue(links: number, nowMs: number): boolean {
    if (this.#failures > 0 || nowMs - this.#lastMs >= this.#options.intervalMs) return true;
    return Math.abs(links - this.#lastLinks) > GROWTH * this.#lastLinks;
  }

  async #fit(input: FitInput, graphMs: number, nowMs: number): Promise<void> {
    this.#lastInput = input;
    this.#lastMs = nowMs;
    try {
      const fit = await this.#options.fitter.fit(input);
      this.#take(fit, input, graphMs, nowMs);
    } catch (error) {
      if (!this.#closed) this.#failed(error);
    }
  }

  #take(fit: CoordinateFit, { samples }: FitInput, graphMs: number, nowMs: number): void {
    const { model, durationMs, rejected, ...errors } = fit;
    const info = { sampledMs: graphMs, pairs: samples.source.length, ...errors };
    this.#kept = { coordinates: new Coordinates(model, info), sampledMs: nowMs };
    this.#failures = 0;
    this.#restMs = durationMs * REST_FACTOR;
    this.#results.ok++;
    for (const [reason, count] of Object.entries(rejected))
      this.#rejected.set(reason, (this.#rejected.get(reason) ?? 0) + count);
    for (const listener of this.#onFit) listener(durationMs);
  }

  #failed(error: unknown): void {
    const { clock, random, logger } = this.#options;
    const pauseMs = delayMs(BACKOFF, ++this.#failures, random);
    this.#retryMs = clock.monotonic() + pauseMs;
    this.#results[error instanceof CoordinateError ? RESULT_OF[error.code] : "failed"]++;
    logger.warn("fitting coordinates failed, the last ones stay in use while they are young enough", {
      error,
      failures: this.#failures,
      retryInMs: Math.round(pauseMs),
    });
  }
}
