import { figureOrNull, type CoordinateFit } from "@isochrone/topology";

/** Estimate of a pair; `errorMs` is half the width of its 90 % interval. */
interface PairEstimate {
  readonly rttMs: number;
  /** Null: unknown. */
  readonly errorMs: number | null;
}

export interface CoordinateModel {
  estimate(source: string, target: string): PairEstimate | null;
  coordinateOf(node: string): readonly number[] | null;
}

interface FitInfo {
  /** Time at which the samples were read from the windows. */
  readonly sampledMs: number;
  readonly pairs: number;
  /** Median relative error of those pairs' estimates; null: unknown. */
  readonly medianRelativeError: number | null;
  readonly p90RelativeError: number | null;
}

/** Rounds to 0.1 µs, which is finer than any probe. */
const DECIMALS = 1e4;

export class Coordinates {
  readonly info: FitInfo;
  readonly #model: CoordinateModel;
  readonly #published = new Map<string, number[] | null>();

  constructor(model: CoordinateModel, info: FitInfo) {
    this.#model = model;
    this.info = info;
  }

  /** Published coordinate in ms, rounded to 4 decimals. Returns the same array each time; read only. */
  coordinateOf(node: string): number[] | null {
    let published = this.#published.get(node);
    if (published === undefined) {
      const coordinate = this.#model.coordinateOf(node);
      published = coordinate === null ? null : publishedOf(coordinate);
      this.#published.set(node, published);
    }
    return published;
  }

  /** Returns null for estimates that are not finite or are negative. */
  estimate(source: string, target: string): PairEstimate | null {
    const estimate = this.#model.estimate(source, target);
    const rttMs = figureOrNull(estimate?.rttMs ?? null);
    return rttMs === null ? null : { rttMs, errorMs: figureOrNull(estimate!.errorMs) };
  }

  ageMs(nowMs: number): number {
    return Math.max(0, nowMs - this.info.sampledMs);
  }

  describe(nowMs: number): CoordinateFit {
    const { sampledMs, pairs, medianRelativeError, p90RelativeError } = this.info;
    return {
      fittedAt: new Date(sampledMs).toISOString(),
      ageSeconds: this.ageMs(nowMs) / 1000,
      pairs,
      medianRelativeError: figureOrNull(medianRelativeError),
      p90RelativeError: figureOrNull(p90RelativeError),
    };
  }
}

/** Returns null for coordinates that are not finite or are absurdly large. */
function publishedOf(coordinate: readonly number[]): number[] | null {
  const published = coordinate.map((ms) => Math.round(ms * DECIMALS) / DECIMALS + 0);
  return published.every((ms) => figureOrNull(Math.abs(ms)) !== null) ? published : null;
}
