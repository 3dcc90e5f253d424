/** A node, identified by its index in the input. */
export interface CoordinateNode {
  readonly name: string;
  /** Nodes of one zone count as equally far apart if its measured pairs agree. Null: unknown. */
  readonly zone: string | null;
  readonly region: string | null;
}

/**
 * Samples of one window, a row per ordered pair. Rows of a pair are merged. Typed columns transfer to a
 * worker thread without a copy.
 */
export interface CoordinateSamples {
  readonly source: ArrayLike<number>;
  readonly target: ArrayLike<number>;
  /** Median RTT over the window, ms. */
  readonly rttMs: ArrayLike<number>;
  readonly count: ArrayLike<number>;
  /**
   * Standard deviation of single replies (for skewed data, 1.48 x the median absolute deviation), ms; NaN:
   * unknown.
   * @default unknown: medians are trusted
   */
  readonly spreadMs?: ArrayLike<number>;
}

export interface CoordinateInput {
  readonly nodes: readonly CoordinateNode[];
  readonly samples: CoordinateSamples;
}

export interface CoordinateOptions {
  /** Equal input, seed and previous model give equal models. */
  readonly seed: number;
  /** Model of the previous window, matched by node names. @default none: a cold fit */
  readonly previous?: CoordinatePrevious;
}

interface CoordinatePrevious {
  toState(): CoordinateState;
}

export interface CoordinateEstimate {
  readonly rttMs: number;
  /** Half the width of the 90 % interval, ms. */
  readonly errorMs: number;
  /** Bounds of the 90 % interval, ms. */
  readonly lowMs: number;
  readonly highMs: number;
}

/** Rejected samples by reason. */
export interface RejectedSamples {
  readonly unknownNode: number;
  readonly self: number;
  /** Samples whose RTT is NaN or outside RTT_BOUNDS_MS. */
  readonly invalidRtt: number;
  readonly invalidCount: number;
}

export interface CoordinateQuality {
  readonly pairs: number;
  /** Groups of nodes connected by samples; no estimates between groups. */
  readonly components: number;
  readonly isolatedNodes: number;
  readonly rejected: RejectedSamples;
  /** Number of held-out pairs; 0: too few pairs. */
  readonly heldOutPairs: number;
  /** |estimate - measured| / measured over held-out pairs. Null: none. */
  readonly heldOutMedianRelativeError: number | null;
  readonly heldOutP90RelativeError: number | null;
  /** Minimiser steps of all fits: the machine-independent cost of a round. */
  readonly steps: number;
}

export interface CoordinateState {
  readonly format: 1;
  readonly names: readonly string[];
  readonly round: number;
  /** Unit of positions: log of the median RTT in ms at the cold fit. */
  readonly logUnit: number;
  /** Component by node; -1: no samples. */
  readonly component: Int32Array;
  readonly measured: MeasuredState;
  readonly track: TrackState;
  readonly heldOut: readonly TrackStart[];
  readonly calibration: CalibrationState;
  readonly quality: CoordinateQuality;
}

/** Measured ordered pairs in compressed sparse rows by source. */
export interface MeasuredState {
  readonly rowStart: Int32Array;
  readonly target: Int32Array;
  /** Measured value as log(RTT / unit). */
  readonly value: Float64Array;
  /** Sampling variance of `value`. */
  readonly variance: Float64Array;
}

export interface TrackState {
  /** Per member and node: `dimensions` coordinates and the log height. */
  readonly positions: readonly Float64Array[];
  readonly similarity: SimilarityState;
  readonly centres: readonly Int32Array[];
  /** Unordered pairs and their correction coefficients. */
  readonly first: Int32Array;
  readonly second: Int32Array;
  readonly coefficient: Float64Array;
  readonly degree: Int32Array;
  /** Mean absolute log residual by node. */
  readonly nodeError: Float64Array;
  readonly typical: Float64Array;
  /** Median residual, added to every log estimate. */
  readonly bias: number;
}

export type TrackStart = Pick<TrackState, "positions" | "centres" | "first" | "second" | "coefficient">;

export interface SimilarityState {
  readonly features: number;
  readonly perNode: number;
  readonly feature: Int32Array;
  readonly weight: Float64Array;
}

export interface CalibrationState {
  /** Weights of the features in the log expected absolute error. */
  readonly scaleWeights: Float64Array;
  /** 5 % and 95 % quantiles of error / expected absolute error. */
  readonly lowQuantile: number;
  readonly highQuantile: number;
  /** Index of the best correction. */
  readonly correction: number;
  /** Used share of the correction. */
  readonly correctionShare: number;
  /** Downward shift of estimates, as a multiple of the squared expected error. */
  readonly shade: number;
  /** Share of a pair's deviation that both directions have in common, 0 to 1. */
  readonly reciprocity: number;
  readonly folds: readonly HeldOutRows[];
}

export interface HeldOutRows {
  readonly features: Float64Array;
  /** Measured logarithm minus the embedding's. */
  readonly residual: Float64Array;
  readonly correction: Float64Array;
  /** Sampling variance of the measured logarithm. */
  readonly variance: Float64Array;
}
