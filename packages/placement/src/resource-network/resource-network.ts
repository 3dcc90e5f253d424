// Algorithm 1 of Marchese 2023: score = gamma x rascore + delta x nascore.
// See section 3.3.
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

/** The weights of Algorithm 1, each from 0 to 1. */
export interface ResourceNetworkWeights {
  /** CPU within the resource part; alpha + beta = 1. */
  readonly alpha: number;
  /** Memory within the resource part. */
  readonly beta: number;
  /** The resource part; gamma + delta = 1. */
  readonly gamma: number;
  /** The network part. */
  readonly delta: number;
}

/** The paper doesn't fix them; equal weights take no side. */
export const DEFAULT_WEIGHTS: ResourceNetworkWeights = { alpha: 0.5, beta: 0.5, gamma: 0.5, delta: 0.5 };

export const RESOURCE_NETWORK = "resource-network";

/**
 * `raw`: the sum as printed. `scaled`: the same two parts, each min-max normalised over the candidates before
 * they are weighed, as the authors' published plugins do: with equal weights both "equally contribute" [1,
 * section 4]. `normalized`: ours.
 */
export const RESOURCE_NETWORK_MODES = [...COMBINATION_MODES, "scaled"] as const;
export type ResourceNetworkMode = (typeof RESOURCE_NETWORK_MODES)[number];

/** Sums of two weights may miss 1 by this much: 0.1 + 0.9 in binary. */
const SUM_TOLERANCE = 1e-9;
/** CPU, memory, resource, network, their sum, and the score. */
const COLUMNS = 6;

export class ResourceNetwork implements Strategy {
  readonly name = RESOURCE_NETWORK;
  readonly mode: ResourceNetworkMode;
  readonly weights: ResourceNetworkWeights;
  readonly #vectors: NetworkVectors;
  readonly #minSpread: number;

  /**
   * `bytesPerRequest`: what a request of a channel counts as whose bytes nobody counts; 0 leaves such
   * channels unknown, as the paper's modes do in any case: its sum is one of measured traffic. `minSpread`:
   * of `normalized`, see {@link DEFAULT_MIN_SPREAD}. Throws PlacementError `invalid_setting`.
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
    // Algorithm 1, line 6: the cost is nc of the scored node n and the peer's node, whoever starts the
    // exchange.
    this.#vectors = new NetworkVectors(
      requestValue(this.#isPapers ? "raw" : "normalized", bytesPerRequest),
      this.#isPapers ? "scored" : "initiator",
    );
  }

  /** Whether the parts are those of the paper. */
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
    // Its own unit is that of the scaled sum; what isn't known stays so.
    const raw = table.raw.map((sum, row) => (Number.isNaN(sum) ? sum : table.score[row]!));
    return { ...table, mode: this.mode, raw };
  }

  /**
   * Beside a network that takes a side, a node's room for this pod counts: a hundredth of a node more or less
   * must not outvote it. Where it takes none, pods are evened out however small they are.
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
