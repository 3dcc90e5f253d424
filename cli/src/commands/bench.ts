import { loadMatrix, NetworkError } from "@isochrone/lab";
import type { RttMatrix } from "@isochrone/lab";
import { judgeCoordinates } from "../bench/coordinates.ts";
import type { CoordinateJudgement } from "../bench/coordinates.ts";
import { CommandError } from "../errors.ts";
import { formatted } from "../output/format.ts";
import type { Format } from "../output/format.ts";
import { createProgress } from "../output/progress.ts";
import { table } from "../output/table.ts";

interface BenchCoordinatesOptions {
  readonly matrix: string;
  readonly peers: number;
  readonly budget: number;
  readonly seed: number;
  readonly noise: number;
  readonly output: Format;
}

export function benchCoordinatesCommand(
  options: BenchCoordinatesOptions,
  print: (text: string) => void,
): void {
  const matrix = readMatrix(options.matrix);
  const { peers, budget, seed, noise } = options;
  const now = (): number => performance.now();
  const progress = createProgress(process.stderr, now);
  const judgement = judgeCoordinates(matrix, { peers, budget, seed, noise }, now, (share, what) =>
    progress.at(share, what),
  );
  progress.clear();
  print(formatted(options.output, judgement, (shown) => judgementText(shown, options)));
}

function readMatrix(file: string): RttMatrix {
  const matrix = parsed(file);
  const measured = matrix.some((row, source) =>
    row.some((rttMs, target) => source !== target && rttMs !== null),
  );
  if (!measured)
    throw new CommandError(
      `--matrix ${file}: a matrix must hold at least one round-trip time above 0 between two nodes, got none`,
    );
  return matrix;
}

function parsed(file: string): RttMatrix {
  try {
    return loadMatrix(file);
  } catch (error) {
    if (error instanceof NetworkError) throw new CommandError(`--matrix: ${error.message}`, { cause: error });
    throw error;
  }
}

function judgementText(judgement: CoordinateJudgement, options: BenchCoordinatesOptions): string {
  const { nodes, pairs, sampledPairs, pairsWithoutEstimate, intervalCoverage, fitMs } = judgement;
  const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
  const noise = options.noise === 0 ? "" : `, noise ${percent(options.noise)}`;
  return [
    `${nodes} nodes with ${options.peers} peers each, ${options.budget} probes per node${noise}: ${sampledPairs} of ${pairs} ordered pairs sampled`,
    "",
    table(
      ["what", "value"],
      [
        ["median relative error", percent(judgement.medianRelativeError)],
        ["p90 relative error", percent(judgement.p90RelativeError)],
        ["median absolute error", `${judgement.medianAbsoluteErrorMs.toPrecision(3)} ms`],
        [
          "inside the 90 % interval, pairs nobody probed",
          intervalCoverage === null ? null : percent(intervalCoverage),
        ],
        ["pairs without an estimate", String(pairsWithoutEstimate)],
        ["fit", `${fitMs.toFixed(0)} ms`],
      ],
    ),
  ].join("\n");
}
