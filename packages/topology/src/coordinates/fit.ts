// A cold round fits everything; a warm one starts from the previous round and refits a few folds.
import { quantile, seeded, type Draw } from "@isochrone/primitives";
import { calibrate, chooseCorrection, heldOutErrors } from "./calibration.ts";
import type { HeldOutCandidates } from "./calibration.ts";
import { Correction } from "./correction.ts";
import type { CorrectionOptions } from "./correction.ts";
import { startPositions } from "./embedding.ts";
import { MAX_DIMENSIONS, MEMBERS } from "./ensemble.ts";
import { FEATURES } from "./error-scale.ts";
import { landmarkScaling } from "./landmarks.ts";
import { CoordinateModel } from "./model.ts";
import { gaussian, hashPair, hashText } from "./random.ts";
import { collect, subsetOf } from "./samples.ts";
import type { Measurements, Pairs } from "./samples.ts";
import { CORRECTIONS, Track } from "./track.ts";
import type {
  CalibrationState,
  CoordinateInput,
  CoordinateOptions,
  CoordinateQuality,
  CoordinateState,
  HeldOutRows,
  TrackStart,
} from "./types.ts";

/** Steps per ensemble member. */
const COLD_STEPS = 100;
const FEWER_COLD_STEPS = 80;
const LARGE_CLUSTER = 2_000;
const WARM_STEPS = 10;
const FEWER_WARM_STEPS = 6;
const LANDMARKS = 64;
const HELD_OUT_LANDMARKS = 32;
/** Minimum pairs for holding some out. */
const LEAST_PAIRS = 24;
const HELD_OUT_PAIRS = 900;
/** A fold holds out between a tenth and a fiftieth, so that it judges nearly the same fit. */
const MIN_BUCKETS = 10;
const MAX_BUCKETS = 50;
/** Warm rounds refit folds up to this many pairs. */
const WARM_PAIRS = 6_000;
/** Minimum share of known nodes (or pairs, for the correction) for a warm start. */
const LEAST_KNOWN_SHARE = 0.5;

/** Never throws for bad samples: counts them in `quality.rejected`. */
export function fitCoordinates(input: CoordinateInput, options: CoordinateOptions): CoordinateModel {
  const previous = usable(options.previous?.toState(), input);
  const measurements = collect(input, previous?.logUnit ?? null);
  const round: Round = {
    input,
    measurements,
    zone: zonesOf(input),
    folds: foldsOf(input, measurements.pairs),
    seed: options.seed,
    previous,
  };
  const held = previous === null ? learnCold(round) : learnWarm(round, previous);
  const { track, start } = fitTrack(round, measurements.pairs, MAIN_TRACK, previous?.track ?? null);
  const coefficients = track.correct(CORRECTIONS[held.calibration.correction]!, start);
  const state: CoordinateState = {
    format: 1,
    names: input.nodes.map(({ name }) => name),
    round: previous === null ? 0 : previous.round + 1,
    logUnit: measurements.logUnit,
    component: measurements.component,
    measured: measurements.measured,
    track: track.toState(coefficients),
    heldOut: held.starts,
    calibration: held.calibration,
    quality: qualityOf(measurements, held.calibration, held.steps + track.steps),
  };
  return CoordinateModel.fromState(state);
}

interface Round {
  readonly input: CoordinateInput;
  readonly measurements: Measurements;
  readonly zone: Int32Array;
  readonly folds: Folds;
  readonly seed: number;
  readonly previous: CoordinateState | null;
}

interface Folds {
  readonly count: number;
  readonly share: number;
  /** Fold of each pair; `count` and above: none. */
  readonly of: Uint8Array;
}

interface Learnt {
  readonly calibration: CalibrationState;
  readonly starts: readonly TrackStart[];
  readonly steps: number;
}

const MAIN_TRACK = 0;

function learnCold(round: Round): Learnt {
  const { measurements, folds } = round;
  const judged = Array.from({ length: folds.count }, (_, fold) => leaveOut(round, fold, null, CORRECTIONS));
  const chosen = chooseCorrection(judged.map(({ rows }) => rows));
  return {
    calibration: calibrate(chosen.folds, { ...chosen, leftOutShare: folds.share }, measurements.measured),
    starts: judged.map(({ starts }) => starts[chosen.correction]!),
    steps: judged.reduce((sum, { steps }) => sum + steps, 0),
  };
}

/** Refits some folds in turn and keeps the results of the others. */
function learnWarm(round: Round, previous: CoordinateState): Learnt {
  const { measurements, folds } = round;
  const { correction, correctionShare: share } = previous.calibration;
  const rows: HeldOutRows[] = [...previous.calibration.folds];
  const starts = [...previous.heldOut];
  const affordable = Math.max(1, Math.floor(WARM_PAIRS / Math.max(1, measurements.pairs.first.length)));
  let steps = 0;
  for (let next = 0; next < Math.min(affordable, folds.count); next++) {
    const turn = ((previous.round + 1) * affordable + next) % folds.count;
    const renewed = leaveOut(round, turn, starts[turn] ?? null, [CORRECTIONS[correction]!]);
    starts[turn] = renewed.starts[0]!;
    rows[turn] = { ...renewed.rows, correction: renewed.rows.corrections[0]! };
    steps += renewed.steps;
  }
  const learnt = calibrate(
    rows.filter(Boolean),
    { correction, share, leftOutShare: folds.share },
    measurements.measured,
  );
  return { calibration: { ...learnt, folds: rows }, starts, steps };
}

interface Judged {
  readonly rows: HeldOutCandidates;
  readonly starts: readonly TrackStart[];
  readonly steps: number;
}

function leaveOut(
  round: Round,
  fold: number,
  last: TrackStart | null,
  corrections: readonly CorrectionOptions[],
): Judged {
  const { pairs } = round.measurements;
  const kept = subsetOf(pairs, (pair) => round.folds.of[pair] !== fold);
  const { track, start } = fitTrack(round, kept, fold + 1, last);
  // Omit nodes that lost all their pairs: no estimate exists for them.
  const left = subsetOf(
    pairs,
    (pair) =>
      round.folds.of[pair] === fold &&
      track.degree(pairs.first[pair]!) > 0 &&
      track.degree(pairs.second[pair]!) > 0,
  );
  const features = new Float64Array(left.value.length * FEATURES);
  const residual = left.value.map((value, pair) => {
    track.describe(left.first[pair]!, left.second[pair]!, features, pair * FEATURES, track.typical);
    return value - track.ensemble.log - track.bias;
  });
  const correction = new Correction(track.similarity);
  const coefficients = corrections.map((way) => track.correct(way, start));
  return {
    rows: {
      features,
      residual,
      variance: left.variance,
      corrections: coefficients.map((coefficient) => {
        correction.gather(kept, coefficient);
        return correction.atAll(left);
      }),
    },
    starts: coefficients.map((coefficient) => ({
      positions: track.positions,
      centres: track.centres,
      first: kept.first,
      second: kept.second,
      coefficient,
    })),
    steps: track.steps,
  };
}

function fitTrack(
  { input, zone, seed, previous }: Round,
  pairs: Pairs,
  number: number,
  last: TrackStart | null,
): { track: Track; start: Float64Array | null } {
  const random = seeded(seed + 0x9e3779b1 * (number + 1));
  if (previous !== null && last !== null) {
    const known = new Map(previous.names.map((name, index) => [name, index]));
    const before = input.nodes.map(({ name }) => known.get(name) ?? -1);
    const warm = last.positions.map((positions, member) =>
      carriedOver(positions, before, pairs, MEMBERS[member]!.dimensions, random),
    );
    const centres = last.centres.map((level) => placesNow(level, before));
    const maxSteps = pairs.nodes < LARGE_CLUSTER ? WARM_STEPS : FEWER_WARM_STEPS;
    const track = new Track({ pairs, zone, start: warm, centres, maxSteps, seed });
    return { track, start: coefficientsBefore(pairs, last, before) };
  }
  const landmarks = number === MAIN_TRACK ? LANDMARKS : HELD_OUT_LANDMARKS;
  const columns = landmarkScaling(pairs, { dimensions: MAX_DIMENSIONS, landmarks, random });
  const cold = MEMBERS.map(({ dimensions }) => startPositions(columns, dimensions, random));
  const many = number === MAIN_TRACK && pairs.nodes < LARGE_CLUSTER;
  const maxSteps = many ? COLD_STEPS : FEWER_COLD_STEPS;
  const track = new Track({ pairs, zone, start: cold, centres: null, maxSteps, seed });
  return { track, start: null };
}

function placesNow(nodes: Int32Array, before: readonly number[]): Int32Array {
  const now = new Map(before.map((place, index) => [place, index]));
  return nodes.map((place) => now.get(place) ?? -1).filter((index) => index >= 0);
}

function coefficientsBefore(pairs: Pairs, last: TrackStart, before: readonly number[]): Float64Array | null {
  const size = last.first.reduce((most, node, pair) => Math.max(most, node, last.second[pair]!), 0) + 1;
  const key = (a: number, b: number): number => Math.min(a, b) * size + Math.max(a, b);
  const known = new Map<number, number>();
  for (let pair = 0; pair < last.first.length; pair++)
    known.set(key(last.first[pair]!, last.second[pair]!), last.coefficient[pair]!);
  let found = 0;
  const coefficients = pairs.value.map((_, pair) => {
    const a = before[pairs.first[pair]!]!;
    const b = before[pairs.second[pair]!]!;
    const coefficient = a < 0 || b < 0 ? undefined : known.get(key(a, b));
    if (coefficient !== undefined) found++;
    return coefficient ?? 0;
  });
  return found >= LEAST_KNOWN_SHARE * coefficients.length ? coefficients : null;
}

const NEW_NODE_JITTER = 0.02;

/** Previous positions in current order. A new node starts next to its nearest measured one. */
function carriedOver(
  positions: Float64Array,
  before: readonly number[],
  pairs: Pairs,
  dimensions: number,
  random: Draw,
): Float64Array {
  const stride = dimensions + 1;
  const result = new Float64Array(before.length * stride);
  for (let node = 0; node < before.length; node++) {
    const place = before[node]! >= 0 ? before[node]! : nearestKnown(node, before, pairs);
    if (place >= 0) result.set(positions.subarray(place * stride, (place + 1) * stride), node * stride);
    else result[node * stride + dimensions] = -2;
    if (before[node]! >= 0) continue;
    for (let k = 0; k < dimensions; k++) result[node * stride + k]! += NEW_NODE_JITTER * gaussian(random);
  }
  return result;
}

function nearestKnown(node: number, before: readonly number[], pairs: Pairs): number {
  let nearest = -1;
  let least = Infinity;
  for (let edge = pairs.rowStart[node]!; edge < pairs.rowStart[node + 1]!; edge++) {
    const place = before[pairs.neighbour[edge]!]!;
    const value = pairs.value[pairs.pair[edge]!]!;
    if (place < 0 || value >= least) continue;
    nearest = place;
    least = value;
  }
  return nearest;
}

function usable(previous: CoordinateState | undefined, { nodes }: CoordinateInput): CoordinateState | null {
  if (previous === undefined || previous.track.first.length === 0) return null;
  const placed = new Set(previous.names.filter((_, index) => previous.component[index]! >= 0));
  const known = nodes.reduce((count, { name }) => count + (placed.has(name) ? 1 : 0), 0);
  const isFinite = previous.track.positions.every((positions) => positions.every(Number.isFinite));
  return isFinite && known >= LEAST_KNOWN_SHARE * nodes.length && known > 0 ? previous : null;
}

/** Folds derive from names, so a pair stays in its fold across rounds. */
function foldsOf({ nodes }: CoordinateInput, pairs: Pairs): Folds {
  const total = pairs.first.length;
  if (total < LEAST_PAIRS) return { count: 0, share: 0, of: new Uint8Array(total) };
  const buckets = Math.max(MIN_BUCKETS, Math.min(MAX_BUCKETS, Math.round(total / HELD_OUT_PAIRS)));
  const count = Math.min(buckets, Math.ceil((HELD_OUT_PAIRS * buckets) / total));
  const hashes = Uint32Array.from(nodes, ({ name }) => hashText(name));
  const of = Uint8Array.from(
    pairs.first,
    (node, pair) => hashPair(hashes[node]!, hashes[pairs.second[pair]!]!) % buckets,
  );
  return { count, share: 1 / buckets, of };
}

function zonesOf({ nodes }: CoordinateInput): Int32Array {
  const ids = new Map<string, number>();
  return Int32Array.from(nodes, ({ zone, region }) => {
    if (zone === null) return -1;
    const key = JSON.stringify([region, zone]);
    const id = ids.get(key) ?? ids.size;
    ids.set(key, id);
    return id;
  });
}

function qualityOf(
  { pairs, component, components, rejected }: Measurements,
  calibration: CalibrationState,
  steps: number,
): CoordinateQuality {
  const errors = heldOutErrors(calibration);
  return {
    pairs: pairs.first.length,
    components,
    isolatedNodes: component.reduce((count, id) => count + (id < 0 ? 1 : 0), 0),
    rejected,
    heldOutPairs: errors.length,
    heldOutMedianRelativeError: quantile(errors, 0.5),
    heldOutP90RelativeError: quantile(errors, 0.9),
    steps,
  };
}
