// Learns from held-out pairs.
import { quantile } from "@isochrone/primitives";
import { FEATURES, learnScale, PRIOR_WEIGHTS, scaleOf } from "./error-scale.ts";
import type { CalibrationState, HeldOutRows, MeasuredState } from "./types.ts";
import { find } from "./samples.ts";

export interface HeldOutCandidates extends Omit<HeldOutRows, "correction"> {
  readonly corrections: readonly Float64Array[];
}

const DEFAULT_CORRECTION = 0;
const SHARES = [1, 0.5, 0];
/** Minimum relative improvement over the default. */
const LEAST_GAIN = 0.01;
/** Weight of the 90 % quantile of errors against the median. */
const TAIL_WEIGHT = 0.1;
/**
 * Overestimates cost more relative error than underestimates, so uncertain estimates are lowered. Optimal on
 * PlanetLab, Seattle and synthetic clusters: 0.25 to 0.75.
 */
const SHADE = 0.45;
/** With fewer held-out pairs, the defaults apply. */
const LEAST_PAIRS = 60;
/** Weight of the Laplace distribution's quantiles, in pairs. */
const PRIOR_PAIRS = 20;
const LAPLACE_QUANTILE = Math.log(10);
const CALIBRATION_ROUNDS = 3;
/**
 * A fit of all pairs has smaller errors: they fall with this power of the number of pairs (observed: 0 to
 * 0.9).
 */
const LEARNING = 0.3;
/** Prior of the agreement of both directions, and its weight in pairs. */
const RECIPROCITY_PRIOR = 0.9;
const RECIPROCITY_PRIOR_PAIRS = 3;
/** Standard deviation of a normal distribution / its mean absolute value. */
const DEVIATION_PER_MEAN = Math.sqrt(Math.PI / 2);

export function chooseCorrection(folds: readonly HeldOutCandidates[]): {
  folds: HeldOutRows[];
  correction: number;
  share: number;
} {
  const candidates = folds[0]?.corrections.length ?? 0;
  const residual = joined(folds.map((fold) => fold.residual));
  let best = { correction: DEFAULT_CORRECTION, share: 1, score: Infinity };
  for (let correction = 0; correction < candidates && residual.length >= LEAST_PAIRS; correction++) {
    const corrections = joined(folds.map((fold) => fold.corrections[correction]!));
    for (const share of SHARES) {
      const score = scoreOf(residual.map((value, row) => value - share * corrections[row]!));
      if (score < best.score * (1 - LEAST_GAIN)) best = { correction, share, score };
    }
  }
  return {
    folds: folds.map(({ features, residual, variance, corrections }) => ({
      features,
      residual,
      variance,
      correction: corrections[best.correction]!,
    })),
    correction: best.correction,
    share: best.share,
  };
}

export function calibrate(
  folds: readonly HeldOutRows[],
  {
    correction,
    share,
    leftOutShare,
  }: { readonly correction: number; readonly share: number; readonly leftOutShare: number },
  measured: MeasuredState,
): CalibrationState {
  const features = joined(folds.map((fold) => fold.features));
  const variance = joined(folds.map((fold) => fold.variance));
  const corrections = joined(folds.map((fold) => fold.correction));
  const observed = joined(folds.map((fold) => fold.residual)).map(
    (value, row) => value - share * corrections[row]!,
  );
  let error: Float64Array = observed;
  let scaleWeights: Float64Array = Float64Array.from(PRIOR_WEIGHTS);
  for (let round = 0; round < CALIBRATION_ROUNDS && observed.length > 0; round++) {
    scaleWeights = learnScale(features, error.map(Math.abs));
    error = observed.map((value, row) => {
      const squared = 2 * scaleOf(scaleWeights, features, row * FEATURES) ** 2;
      return value * Math.sqrt(squared / (squared + variance[row]!));
    });
  }
  const scale = error.map((_, row) => scaleOf(scaleWeights, features, row * FEATURES));
  const gain = (1 - leftOutShare) ** LEARNING;
  const ratio = error.map((value, row) => value / scale[row]!);
  return {
    scaleWeights,
    lowQuantile: gain * steadied(ratio, 0.05, -LAPLACE_QUANTILE),
    highQuantile: gain * steadied(ratio, 0.95, LAPLACE_QUANTILE),
    correction,
    correctionShare: share,
    shade: SHADE,
    reciprocity: reciprocityOf(measured, error),
    folds,
  };
}

export function heldOutErrors({
  folds,
  scaleWeights,
  correctionShare,
  shade,
}: CalibrationState): Float64Array {
  const features = joined(folds.map((fold) => fold.features));
  const corrections = joined(folds.map((fold) => fold.correction));
  return joined(folds.map((fold) => fold.residual)).map((value, row) => {
    const scale = scaleOf(scaleWeights, features, row * FEATURES);
    return Math.abs(Math.expm1(-(value - correctionShare * corrections[row]!) - shade * scale * scale));
  });
}

function scoreOf(logError: Float64Array): number {
  const relative = logError.map((value) => Math.abs(Math.expm1(-value)));
  return quantile(relative, 0.5)! + TAIL_WEIGHT * quantile(relative, 0.9)!;
}

function reciprocityOf(measured: MeasuredState, error: Float64Array): number {
  const { rowStart, target, value, variance } = measured;
  const apart: number[] = [];
  let noise = 0;
  for (let source = 0; source + 1 < rowStart.length; source++) {
    for (let at = rowStart[source]!; at < rowStart[source + 1]!; at++) {
      if (target[at]! < source) continue;
      const back = find(measured, target[at]!, source);
      if (back < 0) continue;
      apart.push(Math.abs(value[at]! - value[back]!));
      noise += variance[at]! + variance[back]!;
    }
  }
  const total = (DEVIATION_PER_MEAN * meanOf(error.map(Math.abs))) ** 2;
  if (apart.length === 0 || total === 0) return RECIPROCITY_PRIOR;
  const spread = (DEVIATION_PER_MEAN * meanOf(Float64Array.from(apart))) ** 2;
  const ownPart = Math.max(0, spread - noise / apart.length) / 2;
  const seen = Math.max(0, 1 - ownPart / total);
  return (
    (apart.length * seen + RECIPROCITY_PRIOR_PAIRS * RECIPROCITY_PRIOR) /
    (apart.length + RECIPROCITY_PRIOR_PAIRS)
  );
}

function meanOf(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function steadied(ratio: Float64Array, q: number, prior: number): number {
  const seen = quantile(ratio, q) ?? prior;
  return (ratio.length * seen + PRIOR_PAIRS * prior) / (ratio.length + PRIOR_PAIRS);
}

function joined(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
