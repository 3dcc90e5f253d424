/** A node as the estimator sees it. Its index in the input is how samples and estimates name it. */
export interface CoordinateNode {
  readonly name: string;
  /**
   * Nodes of one zone are taken to be about as far apart as its measured pairs, where these agree; null: not
   * known.
   */
  readonly zone: string | null;
  readonly region: string | null;
}

/**
 * What was measured in one window: a column per quantity, a row per ordered pair. Rows of the same pair are
 * merged. Columns may be typed arrays, so that a worker thread gets them without a copy.
 */
export interface CoordinateSamples {
  /** Index of the node that started the exchanges. */
  readonly source: ArrayLike<number>;
  readonly target: ArrayLike<number>;
  /** Median of the pair over the window, ms. */
  readonly rttMs: ArrayLike<number>;
  /** Replies that the median is taken of. */
  readonly count: ArrayLike<number>;
  /**
   * Standard deviation of the single replies (of a skewed distribution better 1.48 times the median absolute
   * deviation), ms; NaN where it isn't known. Says how far the median can be trusted. @default not known:
   * medians are believed
   */
  readonly spreadMs?: ArrayLike<number>;
}

export interface CoordinateInput {
  readonly nodes: readonly CoordinateNode[];
  readonly samples: CoordinateSamples;
}

export interface CoordinateOptions {
  /** Of everything random; the same input, seed and previous model give the same model. */
  readonly seed: number;
  /**
   * The model of the last window: its positions are where the fit starts. Nodes are matched by name.
   * @default none: a cold fit
   */
  readonly previous?: CoordinatePrevious;
}

/** What a warm start needs of a model. */
interface CoordinatePrevious {
  toState(): CoordinateState;
}

/** The estimated round-trip time of an ordered pair. */
export interface CoordinateEstimate {
  /** The value to use, ms: for a measured pair mostly what was measured. */
  readonly rttMs: number;
  /** Half the width of the 90 % interval, ms. */
  readonly errorMs: number;
  /** The interval that holds the true value in 90 of 100 cases, ms. */
  readonly lowMs: number;
  readonly highMs: number;
}

/** Samples that said nothing or can't be true, by reason. */
export interface RejectedSamples {
  /** Source or target is no index of a node. */
  readonly unknownNode: number;
  /** A node measured itself. */
  readonly self: number;
  /** The RTT is NaN, or not within RTT_BOUNDS_MS. */
  readonly invalidRtt: number;
  /** The count isn't above 0. */
  readonly invalidCount: number;
}

/** How good the fit is, by pairs that were left out of fits of their own. */
export interface CoordinateQuality {
  /** Unordered pairs with samples. */
  readonly pairs: number;
  /** Groups of nodes that samples connect; between groups nothing can be said. */
  readonly components: number;
  /** Nodes without any sample. */
  readonly isolatedNodes: number;
  readonly rejected: RejectedSamples;
  /** Pairs that were left out to judge; 0 when there are too few pairs. */
  readonly heldOutPairs: number;
  /** |estimate - measured| / measured over the left-out pairs; null without any. */
  readonly heldOutMedianRelativeError: number | null;
  readonly heldOutP90RelativeError: number | null;
  /** Steps of the minimiser, all fits together: what a round costs, independent of the machine. */
  readonly steps: number;
}

/** Everything a model is made of; plain, so that it can be posted between threads or stored. */
export interface CoordinateState {
  readonly format: 1;
  readonly names: readonly string[];
  /** Rounds since the cold fit. */
  readonly round: number;
  /**
   * Median RTT of the pairs when the cold fit was made, as a natural logarithm of ms: positions are in this
   * unit.
   */
  readonly logUnit: number;
  /** Component of each node, -1 without samples. */
  readonly component: Int32Array;
  readonly measured: MeasuredState;
  readonly track: TrackState;
  /** Where the fits that leave pairs out go on, by fold. */
  readonly heldOut: readonly TrackStart[];
  readonly calibration: CalibrationState;
  readonly quality: CoordinateQuality;
}

/** The measured ordered pairs, in compressed sparse rows by source. */
export interface MeasuredState {
  readonly rowStart: Int32Array;
  readonly target: Int32Array;
  /** Natural logarithm of RTT / unit. */
  readonly value: Float64Array;
  /** Variance of `value` from sampling. */
  readonly variance: Float64Array;
}

/** One ensemble of embeddings with its correction by the residuals of like pairs. */
export interface TrackState {
  /** Per member: per node `dimensions` coordinates and the logarithm of the height. */
  readonly positions: readonly Float64Array[];
  readonly similarity: SimilarityState;
  /** Nodes that are centres of the similarity, by level. */
  readonly centres: readonly Int32Array[];
  /** Unordered pairs and their coefficients in the correction. */
  readonly first: Int32Array;
  readonly second: Int32Array;
  readonly coefficient: Float64Array;
  /** Samples' pairs of each node. */
  readonly degree: Int32Array;
  /** Mean absolute logarithmic residual of each node. */
  readonly nodeError: Float64Array;
  /** Mean features of random pairs. */
  readonly typical: Float64Array;
  /** Median residual of the embeddings, added to every logarithmic estimate. */
  readonly bias: number;
}

/** What a warm start takes of a track. */
export type TrackStart = Pick<TrackState, "positions" | "centres" | "first" | "second" | "coefficient">;

/** Features of the nodes: `perNode` each, by node. */
export interface SimilarityState {
  /** How many different ones there are. */
  readonly features: number;
  readonly perNode: number;
  readonly feature: Int32Array;
  readonly weight: Float64Array;
}

/** What the left-out pairs taught. */
export interface CalibrationState {
  /** Weights of the features in the logarithm of the expected absolute error. */
  readonly scaleWeights: Float64Array;
  /** 5 % and 95 % quantiles of error / expected absolute error. */
  readonly lowQuantile: number;
  readonly highQuantile: number;
  /** Which way to correct won, by its place in the list of them. */
  readonly correction: number;
  /** Share of the correction that is used. */
  readonly correctionShare: number;
  /** How far estimates are moved down, as a multiple of their squared expected error. */
  readonly shade: number;
  /** Share of a pair's deviation from the model that both directions have in common, 0 to 1. */
  readonly reciprocity: number;
  /** What the above was learnt from, by fold. */
  readonly folds: readonly HeldOutRows[];
}

/** One row per left-out pair. */
export interface HeldOutRows {
  /** Features of the pairs, row by row. */
  readonly features: Float64Array;
  /** Measured logarithm minus the embedding's. */
  readonly residual: Float64Array;
  /** The correction that won. */
  readonly correction: Float64Array;
  /** Sampling variance of the measured logarithm. */
  readonly variance: Float64Array;
}
