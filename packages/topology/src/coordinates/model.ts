import { Correction } from "./correction.ts";
import { CANONICAL_MEMBER, Ensemble, MEMBERS } from "./ensemble.ts";
import { FEATURES, scaleOf, writeFeatures } from "./error-scale.ts";
import { find, RTT_BOUNDS_MS } from "./samples.ts";
import type { CoordinateEstimate, CoordinateQuality, CoordinateState } from "./types.ts";

const NORMAL_QUANTILE = 1.645;
/** For Student's t: a measurement far from the model casts doubt on the model. */
const DEGREES_OF_FREEDOM = 4;
/** exp(log(x)) isn't exactly x: a zero-width interval would miss it. */
const ROUNDING_ERROR = 1e-9;

/** Limits corrections to a factor of 3, more than any detour, against lying nodes. */
const MAX_CORRECTION = Math.log(3);

/** Limits shading to half: an error of e^5 would reduce the estimate to nothing. */
const MAX_SHADE = Math.log(2);

const SELF: CoordinateEstimate = { rttMs: 0, errorMs: 0, lowMs: 0, highMs: 0 };

/** Estimates RTTs between nodes, measured or not. Immutable. */
export class CoordinateModel {
  readonly #state: CoordinateState;
  readonly #ensemble: Ensemble;
  readonly #correction: Correction;
  readonly #features = new Float64Array(FEATURES);
  #indexes: ReadonlyMap<string, number> | undefined;

  private constructor(state: CoordinateState) {
    this.#state = state;
    this.#ensemble = new Ensemble(state.track.positions);
    this.#correction = new Correction(state.track.similarity);
    this.#correction.gather(state.track, state.track.coefficient);
  }

  static fromState(state: CoordinateState): CoordinateModel {
    return new CoordinateModel(state);
  }

  /** Plain data for `postMessage`, storage and the next fit. Shared: don't modify. */
  toState(): CoordinateState {
    return this.#state;
  }

  get names(): readonly string[] {
    return this.#state.names;
  }

  get quality(): CoordinateQuality {
    return this.#state.quality;
  }

  indexOf(name: string): number {
    this.#indexes ??= new Map(this.#state.names.map((name, index) => [name, index]));
    return this.#indexes.get(name) ?? -1;
  }

  /** RTT of exchanges that `source` starts. Null: unknown index, or nodes not connected by samples. */
  estimate(source: number, target: number): CoordinateEstimate | null {
    const { component, logUnit, calibration, track } = this.#state;
    const known = component[source];
    if (known === undefined || known < 0 || component[target] !== known) return null;
    if (source === target) return SELF;
    this.#ensemble.evaluate(source, target);
    const correction = calibration.correctionShare * this.#correction.at(source, target);
    const log =
      this.#ensemble.log + track.bias + Math.max(-MAX_CORRECTION, Math.min(MAX_CORRECTION, correction));
    const scale = this.#scale(source, target);
    const blended = this.#blend(source, target, log, scale);
    if (blended !== null) return interval(blended.log, blended.log, blended.error, blended.error, logUnit);
    const low = -calibration.lowQuantile * scale;
    const high = calibration.highQuantile * scale;
    const shaded = log - Math.min(calibration.shade * scale * scale, Math.max(0, low), MAX_SHADE);
    return interval(shaded, log, low, high, logUnit);
  }

  /**
   * x_1 ... x_d and height, ms: RTT(i, j) is about |x_i - x_j| + h_i + h_j. One uncorrected member, not the
   * best estimate. Null: no samples.
   */
  coordinateOf(node: number): number[] | null {
    const { component, logUnit, track } = this.#state;
    if (component[node] === undefined || component[node] < 0) return null;
    const { dimensions } = MEMBERS[CANONICAL_MEMBER]!;
    const at = node * (dimensions + 1);
    const unit = Math.exp(logUnit);
    const position = track.positions[CANONICAL_MEMBER]!;
    const coordinate = Array.from({ length: dimensions }, (_, k) => unit * position[at + k]!);
    return [...coordinate, unit * Math.exp(position[at + dimensions]!)];
  }

  #scale(a: number, b: number): number {
    const { track, calibration } = this.#state;
    const pair = {
      log: this.#ensemble.log,
      spread: this.#ensemble.spread,
      degreeA: track.degree[a]!,
      degreeB: track.degree[b]!,
      nodeErrorA: track.nodeError[a]!,
      nodeErrorB: track.nodeError[b]!,
    };
    writeFeatures(this.#features, 0, pair, track.typical);
    return scaleOf(calibration.scaleWeights, this.#features, 0);
  }

  /**
   * Kriging over the model and measurements of both directions; `error` is half the 90 % interval of the
   * logarithm. Null: not measured.
   */
  #blend(source: number, target: number, log: number, scale: number): { log: number; error: number } | null {
    const { measured, calibration } = this.#state;
    const own = find(measured, source, target);
    const back = find(measured, target, source);
    if (own < 0 && back < 0) return null;
    const ownDeviation = own < 0 ? 0 : measured.value[own]! - log;
    const backDeviation = back < 0 ? 0 : measured.value[back]! - log;
    const seen = own < 0 ? backDeviation : ownDeviation;
    const prior = (DEGREES_OF_FREEDOM * 2 * scale * scale + seen * seen) / (DEGREES_OF_FREEDOM + 1);
    const shared = calibration.reciprocity * prior;
    const ownVariance = own < 0 ? Infinity : prior + measured.variance[own]!;
    const backVariance = back < 0 ? Infinity : prior + measured.variance[back]!;
    const { ownWeight, backWeight } = weightsOf(prior, shared, ownVariance, backVariance);
    const remaining = Math.max(0, prior - ownWeight * prior - backWeight * shared);
    return {
      log: log + ownWeight * ownDeviation + backWeight * backDeviation,
      error: NORMAL_QUANTILE * Math.sqrt(remaining),
    };
  }
}

function weightsOf(
  prior: number,
  shared: number,
  ownVariance: number,
  backVariance: number,
): { ownWeight: number; backWeight: number } {
  if (backVariance === Infinity) return { ownWeight: prior / ownVariance, backWeight: 0 };
  if (ownVariance === Infinity) return { ownWeight: 0, backWeight: shared / backVariance };
  const determinant = ownVariance * backVariance - shared * shared;
  // Two exact, agreeing measurements: one suffices.
  if (!(determinant > 1e-12 * ownVariance * backVariance)) return { ownWeight: 1, backWeight: 0 };
  return {
    ownWeight: (prior * backVariance - shared * shared) / determinant,
    backWeight: (shared * ownVariance - prior * shared) / determinant,
  };
}

/** Log bounds of plausible RTTs, for estimates and intervals. */
const LOG_BOUNDS = [Math.log(RTT_BOUNDS_MS[0]), Math.log(RTT_BOUNDS_MS[1])] as const;

function boundedMs(log: number): number {
  return Math.exp(Math.max(LOG_BOUNDS[0], Math.min(LOG_BOUNDS[1], log)));
}

/** Builds an interval. `low` and `high` are distances from `centre`. */
function interval(
  log: number,
  centre: number,
  low: number,
  high: number,
  logUnit: number,
): CoordinateEstimate {
  const lowMs = boundedMs(logUnit + centre - low) * (1 - ROUNDING_ERROR);
  const highMs = boundedMs(logUnit + centre + high) * (1 + ROUNDING_ERROR);
  return { rttMs: boundedMs(logUnit + log), errorMs: (highMs - lowMs) / 2, lowMs, highMs };
}
