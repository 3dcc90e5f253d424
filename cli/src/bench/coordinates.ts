// Evaluates network coordinates against a round-trip matrix: draws probes, fits a model, and compares its
// estimates with the matrix, including unprobed pairs.
import { ascending, median, quantileOfSorted } from "@isochrone/primitives";
import type { RttMatrix } from "@isochrone/lab";
import { seededRandom } from "@isochrone/runtime/basics";
import type { Random } from "@isochrone/runtime/basics";
import { fitCoordinates } from "@isochrone/topology/coordinates";
import type { CoordinateInput, CoordinateModel, CoordinateSamples } from "@isochrone/topology/coordinates";

interface ProbingOptions {
  readonly peers: number;
  readonly budget: number;
  /** Each sample is multiplied by 1 + noise x a standard normal number. */
  readonly noise: number;
  readonly seed: number;
}

export interface CoordinateJudgement {
  /** Median of |estimate - true| / true over all measured ordered pairs; a missing estimate counts as 1. */
  readonly medianRelativeError: number;
  readonly p90RelativeError: number;
  readonly medianAbsoluteErrorMs: number;
  readonly fitMs: number;
  readonly nodes: number;
  readonly pairs: number;
  readonly sampledPairs: number;
  readonly pairsWithoutEstimate: number;
  /** Share of unprobed pairs whose true value lies in the stated 90 % interval; null without such pairs. */
  readonly intervalCoverage: number | null;
}

type OnProgress = (share: number, what: string) => void;

const DRAWN_SHARE = 0.3;
const FITTED_SHARE = 0.8;

const unheard: OnProgress = () => undefined;

/** Draws the samples of one window. A probe of a pair missing in the matrix is lost. */
export function drawSamples(
  matrix: RttMatrix,
  options: ProbingOptions,
  onProgress: OnProgress = unheard,
): CoordinateSamples {
  const random = seededRandom(options.seed);
  const columns: Record<keyof CoordinateSamples, number[]> = {
    source: [],
    target: [],
    rttMs: [],
    count: [],
    spreadMs: [],
  };
  for (const [source, row] of matrix.entries()) {
    onProgress((DRAWN_SHARE * source) / matrix.length, "drawing samples");
    for (const [target, replies] of probe(source, row, options, random)) {
      columns.source.push(source);
      columns.target.push(target);
      columns.rttMs.push(median(replies)!);
      columns.count.push(replies.length);
      columns.spreadMs.push(deviationOf(replies));
    }
  }
  return columns;
}

export function judgeCoordinates(
  matrix: RttMatrix,
  options: ProbingOptions,
  now: () => number,
  onProgress: OnProgress = unheard,
): CoordinateJudgement {
  const samples = drawSamples(matrix, options, onProgress);
  onProgress(DRAWN_SHARE, "fitting the model");
  const nodes = matrix.map((_, index) => ({ name: `node-${index}`, zone: null, region: null }));
  const input: CoordinateInput = { nodes, samples };
  const start = now();
  const model = fitCoordinates(input, { seed: options.seed });
  const fitMs = now() - start;
  return { ...compare(matrix, model, samples, onProgress), fitMs, nodes: matrix.length };
}

type Comparison = Omit<CoordinateJudgement, "fitMs" | "nodes">;

function compare(
  matrix: RttMatrix,
  model: CoordinateModel,
  samples: CoordinateSamples,
  onProgress: OnProgress,
): Comparison {
  const isSampled = sampledPairs(samples, matrix.length);
  const relative: number[] = [];
  const absolute: number[] = [];
  const seen = { without: 0, unsampled: 0, covered: 0 };
  for (const { source, target, trueMs } of measuredPairs(matrix)) {
    if (target === 0)
      onProgress(FITTED_SHARE + ((1 - FITTED_SHARE) * source) / matrix.length, "comparing pairs");
    const estimate = model.estimate(source, target);
    const errorMs = Math.abs((estimate?.rttMs ?? 0) - trueMs);
    absolute.push(errorMs);
    relative.push(errorMs / trueMs);
    if (estimate === null) seen.without++;
    if (isSampled(source, target) || isSampled(target, source)) continue;
    seen.unsampled++;
    if (estimate !== null && trueMs >= estimate.lowMs && trueMs <= estimate.highMs) seen.covered++;
  }
  const relativeErrors = ascending(relative);
  return {
    medianRelativeError: quantileOfSorted(relativeErrors, 0.5),
    p90RelativeError: quantileOfSorted(relativeErrors, 0.9),
    medianAbsoluteErrorMs: quantileOfSorted(ascending(absolute), 0.5),
    pairs: relative.length,
    sampledPairs: samples.source.length,
    pairsWithoutEstimate: seen.without,
    intervalCoverage: seen.unsampled === 0 ? null : seen.covered / seen.unsampled,
  };
}

function* measuredPairs(matrix: RttMatrix): Generator<{ source: number; target: number; trueMs: number }> {
  for (const [source, row] of matrix.entries()) {
    for (const [target, trueMs] of row.entries())
      if (source !== target && trueMs !== null) yield { source, target, trueMs };
  }
}

function sampledPairs(
  { source, target }: CoordinateSamples,
  size: number,
): (source: number, target: number) => boolean {
  const sampled = new Uint8Array(size * size);
  for (let row = 0; row < source.length; row++) sampled[source[row]! * size + target[row]!] = 1;
  return (from, to) => sampled[from * size + to] === 1;
}

function probe(
  source: number,
  row: readonly (number | null)[],
  { peers, budget, noise }: ProbingOptions,
  random: Random,
): Map<number, number[]> {
  const chosen = choosePeers(source, row.length, peers, random);
  const replies = new Map<number, number[]>();
  for (let sent = 0; sent < budget && chosen.length > 0; sent++) {
    const target = chosen[Math.floor(random.next() * chosen.length)]!;
    const trueMs = row[target] ?? null;
    const factor = noise === 0 ? 1 : Math.max(LEAST_FACTOR, 1 + noise * gaussian(random));
    if (trueMs === null) continue;
    const known = replies.get(target);
    if (known === undefined) replies.set(target, [trueMs * factor]);
    else known.push(trueMs * factor);
  }
  return replies;
}

const LEAST_FACTOR = 1e-3;

function choosePeers(source: number, size: number, peers: number, random: Random): number[] {
  const others: number[] = [];
  for (let node = 0; node < size; node++) if (node !== source) others.push(node);
  const count = Math.min(peers, others.length);
  for (let at = 0; at < count; at++) {
    const other = at + Math.floor(random.next() * (others.length - at));
    [others[at], others[other]] = [others[other]!, others[at]!];
  }
  return others.slice(0, count);
}

function gaussian(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}

/** Sample standard deviation; NaN for fewer than two values. */
function deviationOf(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return values.length < 2 ? Number.NaN : Math.sqrt(squares / (values.length - 1));
}
