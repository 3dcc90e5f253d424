// A fitted model: answers for ordered pairs of nodes.
import { Correction } from "./correction.ts";
import { CANONICAL_MEMBER, Ensemble, MEMBERS } from "./ensemble.ts";
import { FEATURES, scaleOf, writeFeatures } from "./error-scale.ts";
import { find, RTT_BOUNDS_MS } from "./samples.ts";
import type { CoordinateEstimate, CoordinateQuality, CoordinateState } from "./types.ts";

/** Half a 90 % interval in standard deviations. */
const NORMAL_QUANTILE = 1.645;
/**
 * A measured value far from the model makes the model doubtful, not the value (Student's t with 4 degrees of
 * freedom).
 */
const DEGREES_OF_FREEDOM = 4;
/** The exponential of a logarithm isn't exactly the number again: an interval without width would miss it. */
const ROUNDING_ERROR = 1e-9;

/**
 * What like pairs may change of an estimate, a factor of 3: detours change less, and one node's lies would
 * change it without end.
 */
const MAX_CORRECTION = Math.log(3);

/** How far an estimate is moved down at most, half: with an error of e^5 it would be moved to nothing. */
const MAX_SHADE = Math.log(2);

const SELF: CoordinateEstimate = { rttMs: 0, errorMs: 0, lowMs: 0, highMs: 0 };

/** Estimates RTTs between the nodes of a fit, measured or not. Immutable. */
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

  /** `state` is kept, not copied. */
  static fromState(state: CoordinateState): CoordinateModel {
    return new CoordinateModel(state);
  }

  /** Plain data, for `postMessage`, storage and the next fit; shared with the model: read only. */
  toState(): CoordinateState {
    return this.#state;
  }

  /** Names of the nodes; a node's index is its place here. */
  get names(): readonly string[] {
    return this.#state.names;
  }

  get quality(): CoordinateQuality {
    return this.#state.quality;
  }

  /** Index of the node of this name, or -1. */
  indexOf(name: string): number {
    this.#indexes ??= new Map(this.#state.names.map((name, index) => [name, index]));
    return this.#indexes.get(name) ?? -1;
  }

  /**
   * RTT of exchanges that `source` starts; null for unknown indexes and for nodes that no samples connect.
   */
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
   * The node's public coordinate: x_1 ... x_d and the height, all ms, so that RTT(i, j) is about |x_i -
   * x_j| + h_i + h_j; null for nodes without samples. One member of the ensemble, uncorrected: handy, not the
   * best estimate.
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
   * The best linear combination of the model, the measurement of the pair and that of its other direction;
   * null without a measurement. `error` is half the 90 % interval of the logarithm.
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

/**
 * Weights of the two deviations for the true deviation of the own direction (kriging with at most two
 * observations).
 */
function weightsOf(
  prior: number,
  shared: number,
  ownVariance: number,
  backVariance: number,
): { ownWeight: number; backWeight: number } {
  if (backVariance === Infinity) return { ownWeight: prior / ownVariance, backWeight: 0 };
  if (ownVariance === Infinity) return { ownWeight: 0, backWeight: shared / backVariance };
  const determinant = ownVariance * backVariance - shared * shared;
  // Two exact measurements that agree by definition: one is enough.
  if (!(determinant > 1e-12 * ownVariance * backVariance)) return { ownWeight: 1, backWeight: 0 };
  return {
    ownWeight: (prior * backVariance - shared * shared) / determinant,
    backWeight: (shared * ownVariance - prior * shared) / determinant,
  };
}

/** Logarithms of what a round-trip time can be: no estimate, and no end of an interval, lies outside. */
const LOG_BOUNDS = [Math.log(RTT_BOUNDS_MS[0]), Math.log(RTT_BOUNDS_MS[1])] as const;

function boundedMs(log: number): number {
  return Math.exp(Math.max(LOG_BOUNDS[0], Math.min(LOG_BOUNDS[1], log)));
}

/** `low` and `high` are how far the interval reaches below and above `centre`. */
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
