// One complete fit: ensemble, then correction. One track has all pairs, others hold out a fold.
import { seeded, type Draw, upperMedian } from "@isochrone/primitives";
import { solveCorrection } from "./correction.ts";
import type { CorrectionOptions } from "./correction.ts";
import { fitMember } from "./embedding.ts";
import { Ensemble, MEMBERS } from "./ensemble.ts";
import { FEATURES, NOTHING_TYPICAL, writeFeatures } from "./error-scale.ts";
import { supposedPairs } from "./labels.ts";
import { similarityOf } from "./similarity.ts";
import type { Pairs } from "./samples.ts";
import type { SimilarityState, TrackState } from "./types.ts";

interface TrackOptions {
  readonly pairs: Pairs;
  readonly zone: Int32Array;
  readonly start: readonly Float64Array[];
  /** Centres of the previous round. Null: cold start. */
  readonly centres: readonly Int32Array[] | null;
  readonly maxSteps: number;
  /** Seed of the supposed pairs from labels. */
  readonly seed: number;
}

/** Candidate corrections; held-out pairs decide. */
export const CORRECTIONS: readonly CorrectionOptions[] = [
  { ownVariance: 0.2, robustRounds: 1 },
  { ownVariance: 0.2, robustRounds: 0 },
];

/** Log sampling error above which a pair weighs less in the embedding. */
const EMBEDDING_ERROR = 0.1;
/** Shrink a node's error towards the global error, with the weight of this many pairs. */
const NODE_ERROR_PRIOR_PAIRS = 3;
const RANDOM_PAIRS = 2_000;

export class Track {
  readonly pairs: Pairs;
  readonly positions: readonly Float64Array[];
  readonly ensemble: Ensemble;
  readonly similarity: SimilarityState;
  readonly centres: readonly Int32Array[];
  readonly bias: number;
  /** Measured minus estimated logarithm by pair. */
  readonly residual: Float64Array;
  readonly nodeError: Float64Array;
  readonly typical: Float64Array;
  readonly steps: number;

  constructor(options: TrackOptions) {
    const { pairs, start } = options;
    this.pairs = pairs;
    this.positions = start;
    this.steps = fitEnsemble(options);
    this.ensemble = new Ensemble(start);
    const isKnown = (node: number): boolean => this.degree(node) > 0;
    const similarity = similarityOf(this.ensemble, pairs.nodes, isKnown, options.centres);
    this.similarity = similarity.state;
    this.centres = similarity.centres;
    const residual = pairs.value.map((value, pair) => {
      this.ensemble.evaluate(pairs.first[pair]!, pairs.second[pair]!);
      return value - this.ensemble.log;
    });
    this.bias = upperMedian(residual) ?? 0;
    this.residual = residual.map((value) => value - this.bias);
    this.nodeError = nodeErrors(pairs, this.residual);
    this.typical = this.#typicalFeatures(seeded(options.seed));
  }

  degree(node: number): number {
    return this.pairs.rowStart[node + 1]! - this.pairs.rowStart[node]!;
  }

  describe(a: number, b: number, into: Float64Array, offset: number, typical: ArrayLike<number>): void {
    this.ensemble.evaluate(a, b);
    const pair = {
      log: this.ensemble.log,
      spread: this.ensemble.spread,
      degreeA: this.degree(a),
      degreeB: this.degree(b),
      nodeErrorA: this.nodeError[a]!,
      nodeErrorB: this.nodeError[b]!,
    };
    writeFeatures(into, offset, pair, typical);
  }

  #typicalFeatures(random: Draw): Float64Array {
    const { nodes } = this.pairs;
    const sum = new Float64Array(FEATURES);
    const one = new Float64Array(FEATURES);
    let pairs = 0;
    for (let draw = 0; draw < RANDOM_PAIRS; draw++) {
      const a = Math.floor(random() * nodes);
      const b = Math.floor(random() * nodes);
      if (a === b || nodes === 0 || this.degree(a) === 0 || this.degree(b) === 0) continue;
      this.describe(a, b, one, 0, NOTHING_TYPICAL);
      for (let k = 0; k < FEATURES; k++) sum[k]! += one[k]!;
      pairs++;
    }
    return sum.map((value) => value / Math.max(1, pairs));
  }

  correct(correction: CorrectionOptions, start: Float64Array | null): Float64Array {
    const typical = Math.max(1e-6, upperMedian(this.residual.map(Math.abs)) ?? 0);
    const variance = this.pairs.variance.map((value) => value / (typical * typical));
    return solveCorrection(
      this.pairs,
      this.similarity,
      { residual: this.residual, variance, start },
      correction,
    );
  }

  toState(coefficients: Float64Array): TrackState {
    const { nodes, first, second } = this.pairs;
    return {
      positions: this.positions,
      similarity: this.similarity,
      centres: this.centres,
      first,
      second,
      coefficient: coefficients,
      degree: Int32Array.from({ length: nodes }, (_, node) => this.degree(node)),
      nodeError: this.nodeError,
      typical: this.typical,
      bias: this.bias,
    };
  }
}

function fitEnsemble({ pairs, zone, start, maxSteps, seed }: TrackOptions): number {
  if (pairs.first.length === 0) return 0;
  const supposed = supposedPairs(pairs, zone, seed);
  const fit = {
    nodes: pairs.nodes,
    first: appended(Int32Array, pairs.first, supposed.first),
    second: appended(Int32Array, pairs.second, supposed.second),
    value: appended(Float64Array, pairs.value, supposed.value),
    weight: appended(Float64Array, pairWeights(pairs), supposed.weight),
  };
  let steps = 0;
  for (const [member, positions] of start.entries())
    steps += fitMember(positions, fit, MEMBERS[member]!, maxSteps);
  return steps;
}

function appended<Column extends Int32Array | Float64Array>(
  kind: new (length: number) => Column,
  head: Column,
  tail: Column,
): Column {
  const all = new kind(head.length + tail.length);
  all.set(head);
  all.set(tail, head.length);
  return all;
}

/** Normalised to mean 1, so that priors don't depend on noise. */
function pairWeights({ variance }: Pairs): Float64Array {
  const weight = variance.map((value) => EMBEDDING_ERROR ** 2 / (EMBEDDING_ERROR ** 2 + value));
  const mean = weight.reduce((sum, value) => sum + value, 0) / weight.length;
  return weight.map((value) => value / mean);
}

function nodeErrors({ nodes, rowStart, pair }: Pairs, residual: Float64Array): Float64Array {
  const common = residual.reduce((sum, value) => sum + Math.abs(value), 0) / Math.max(1, residual.length);
  return Float64Array.from({ length: nodes }, (_, node) => {
    let sum = NODE_ERROR_PRIOR_PAIRS * common;
    for (let edge = rowStart[node]!; edge < rowStart[node + 1]!; edge++)
      sum += Math.abs(residual[pair[edge]!]!);
    return sum / (NODE_ERROR_PRIOR_PAIRS + rowStart[node + 1]! - rowStart[node]!);
  });
}
