// Algorithm 1 of Marchese 2023 (section 3.3): score = gamma x rascore + delta x nascore.
import { DEFAULT_BYTES_PER_REQUEST, requestValue } from "../scoring/channel-traffic.ts";
import { ColumnPool, truncated } from "../scoring/columns.ts";
import { candidateIds, checkMinSpread, combineParts, DEFAULT_MIN_SPREAD } from "../scoring/combine.ts";
import { PlacementError } from "../scoring/errors.ts";
import { networkPart } from "../scoring/network-part.ts";
import type { PartColumn } from "../scoring/network-part.ts";
import { NetworkVectors } from "../scoring/network-vector.ts";
import type { PlacementProblem } from "../scoring/problem.ts";
import { headroomPart, resourcePart } from "./resource-part.ts";
import type { ResourcePart } from "./resource-part.ts";
import type { ScoreTable } from "../scoring/score-table.ts";
import { COMBINATION_MODES } from "../scoring/strategy.ts";
import type { Strategy } from "../scoring/strategy.ts";

export interface ResourceNetworkWeights {
  /** Weight of CPU in the resource part; alpha + beta = 1. */
  readonly alpha: number;
  readonly beta: number;
  /** Weight of the resource part; gamma + delta = 1. */
  readonly gamma: number;
  readonly delta: number;
}

/** The paper leaves the values open; equal weights are neutral. */
export const DEFAULT_WEIGHTS: ResourceNetworkWeights = { alpha: 0.5, beta: 0.5, gamma: 0.5, delta: 0.5 };

export const RESOURCE_NETWORK = "resource-network";

/**
 * `raw`: the printed sum. `scaled`: both parts min-max normalised over the candidates first, as the authors'
 * plugins do. `normalized`: our own scale.
 */
export const RESOURCE_NETWORK_MODES = [...COMBINATION_MODES, "scaled"] as const;
export type ResourceNetworkMode = (typeof RESOURCE_NETWORK_MODES)[number];

/** Tolerance for the sum of two weights: 0.1 + 0.9 in binary. */
const SUM_TOLERANCE = 1e-9;
const COLUMNS = 6;

export class ResourceNetwork implements Strategy {
  readonly name = RESOURCE_NETWORK;
  readonly mode: ResourceNetworkMode;
  readonly weights: ResourceNetworkWeights;
  readonly #vectors: NetworkVectors;
  readonly #minSpread: number;

  /**
   * `bytesPerRequest`: 0 leaves channels without byte counts unknown, as the paper's modes do. `minSpread`
   * applies to `normalized`, see {@link DEFAULT_MIN_SPREAD}. Throws PlacementError `invalid_setting`.
   */
  constructor(
    mode: ResourceNetworkMode,
    weights: ResourceNetworkWeights = DEFAULT_WEIGHTS,
    bytesPerRequest: number = DEFAULT_BYTES_PER_REQUEST,
    minSpread: number = DEFAULT_MIN_SPREAD,
  ) {
    checkWeights(weights);
    checkMinSpread(minSpread);
    this.mode = mode;
    this.#minSpread = minSpread;
    this.weights = weights;
    // Algorithm 1, line 6: the cost from the scored node to the peer's node, whoever starts the exchange.
    this.#vectors = new NetworkVectors(
      requestValue(this.#isPapers ? "raw" : "normalized", bytesPerRequest),
      this.#isPapers ? "scored" : "initiator",
    );
  }

  get #isPapers(): boolean {
    return this.mode !== "normalized";
  }

  score(problem: PlacementProblem, pool: ColumnPool = new ColumnPool()): ScoreTable {
    const { gamma, delta } = this.weights;
    const ids = candidateIds(problem);
    pool.reset(problem.candidates.length, COLUMNS);
    const network = networkPart(problem, ids, pool, this.#vectors);
    const resource = this.#resource(problem, ids, pool, network);
    if (this.mode === "scaled") for (const { column } of [resource.part, network]) truncated(column);
    const table = combineParts(problem, ids, pool, {
      strategy: this.name,
      mode: this.mode === "raw" ? "raw" : "normalized",
      minSpread: this.#isPapers ? 0 : this.#minSpread,
      parts: [
        { name: "resource", weight: gamma, source: resource.part },
        { name: "network", weight: delta, source: network },
      ],
      details: { cpu: resource.cpuPercent, memory: resource.memoryPercent },
    });
    if (this.mode !== "scaled") return { ...table, mode: this.mode };
    // In `scaled`, raw values use the unit of the score. Unknown values stay NaN.
    const raw = table.raw.map((sum, row) => (Number.isNaN(sum) ? sum : table.score[row]!));
    return { ...table, mode: this.mode, raw };
  }

  /**
   * If the network part has influence, compare room for this pod only: a hundredth of a node must not outvote
   * it.
   */
  #resource(problem: PlacementProblem, ids: Int32Array, pool: ColumnPool, network: PartColumn): ResourcePart {
    if (this.#isPapers) return resourcePart(problem, ids, this.weights, pool);
    const alone = network.column === null || this.weights.delta === 0;
    return headroomPart(problem, ids, this.weights, pool, alone ? "burst" : "pod");
  }
}

function checkWeights(weights: ResourceNetworkWeights): void {
  for (const name of ["alpha", "beta", "gamma", "delta"] as const) {
    const value = weights[name];
    if (!(value >= 0 && value <= 1))
      throw new PlacementError("invalid_setting", `${name} must be from 0 to 1, got ${value}`);
  }
  for (const [a, b] of [
    ["alpha", "beta"],
    ["gamma", "delta"],
  ] as const) {
    const sum = weights[a] + weights[b];
    if (Math.abs(sum - 1) > SUM_TOLERANCE) {
      throw new PlacementError(
        "invalid_setting",
        `${a} + ${b} must be 1, got ${weights[a]} + ${weights[b]} = ${sum}`,
      );
    }
  }
}
