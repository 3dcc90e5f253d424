import { figureOrNull, type CoordinateFit } from "@isochrone/topology";

/** What an estimate says of a pair: `errorMs` is half the width of its 90 % interval. */
interface PairEstimate {
  readonly rttMs: number;
  /** Null where it isn't known. */
  readonly errorMs: number | null;
}

/** What a fit found out. */
export interface CoordinateModel {
  /** Null for a pair of which the samples say nothing. */
  estimate(source: string, target: string): PairEstimate | null;
  /** Null for a node without samples. */
  coordinateOf(node: string): readonly number[] | null;
}

/** How a model came about. */
interface FitInfo {
  /** When its samples were taken from the windows. */
  readonly sampledMs: number;
  /** Measured ordered pairs. */
  readonly pairs: number;
  /** Of the estimates of those pairs; null when it isn't known. */
  readonly medianRelativeError: number | null;
  readonly p90RelativeError: number | null;
}

/** A tenth of a microsecond: no probe is as exact. */
const DECIMALS = 1e4;

/** Network coordinates as the graphs of a version have them. */
export class Coordinates {
  readonly info: FitInfo;
  readonly #model: CoordinateModel;
  readonly #published = new Map<string, number[] | null>();

  constructor(model: CoordinateModel, info: FitInfo) {
    this.#model = model;
    this.info = info;
  }

  /** As it is published: milliseconds, 4 decimals. The same array each time: read only. */
  coordinateOf(node: string): number[] | null {
    let published = this.#published.get(node);
    if (published === undefined) {
      const coordinate = this.#model.coordinateOf(node);
      published = coordinate === null ? null : publishedOf(coordinate);
      this.#published.set(node, published);
    }
    return published;
  }

  /** Numbers that are none, or below 0, are no estimate. */
  estimate(source: string, target: string): PairEstimate | null {
    const estimate = this.#model.estimate(source, target);
    const rttMs = figureOrNull(estimate?.rttMs ?? null);
    return rttMs === null ? null : { rttMs, errorMs: figureOrNull(estimate!.errorMs) };
  }

  /** Of the samples. */
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

/** Null for what isn't a place: a number that is none, or absurd. */
function publishedOf(coordinate: readonly number[]): number[] | null {
  const published = coordinate.map((ms) => Math.round(ms * DECIMALS) / DECIMALS + 0);
  return published.every((ms) => figureOrNull(Math.abs(ms)) !== null) ? published : null;
}
