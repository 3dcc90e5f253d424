// The NetworkOverhead plugin of KEP-260 (pkg/networkaware/networkoverhead).
import { DEFAULT_BYTES_PER_REQUEST } from "../scoring/channel-traffic.ts";
import type { RequestValue } from "../scoring/channel-traffic.ts";
import { ColumnPool, minMax, normalised } from "../scoring/columns.ts";
import type { MinMax } from "../scoring/columns.ts";
import { PlacementError } from "../scoring/errors.ts";
import { explain } from "../scoring/explain-parts.ts";
import { networkPart } from "../scoring/network-part.ts";
import type { PartColumn } from "../scoring/network-part.ts";
import { NetworkVectors } from "../scoring/network-vector.ts";
import type { PlacementProblem } from "../scoring/problem.ts";
import { NEUTRAL_SCORE } from "../scoring/score-table.ts";
import type { ScoreTable } from "../scoring/score-table.ts";
import type { Strategy } from "../scoring/strategy.ts";
import { RejectedNodes } from "./rejected.ts";
import { WeightedChannels } from "./strict-input.ts";
import { upstreamInput } from "./upstream-input.ts";
import { normalise, rejection, tally } from "./upstream.ts";
import type { UpstreamTally } from "./upstream.ts";

export const NETWORK_OVERHEAD = "network-overhead";

/** `upstream`: as the Go code, bugs included. `strict`: without them (docs/network-overhead.md). */
export const NETWORK_OVERHEAD_MODES = ["strict", "upstream"] as const;
export type NetworkOverheadMode = (typeof NETWORK_OVERHEAD_MODES)[number];

const COLUMNS = 4;
const NONE: ReadonlyMap<string, string> = new Map();

/** `bytesPerRequest` (strict only) values requests without byte counts. */
export function createNetworkOverhead(
  mode: NetworkOverheadMode = "strict",
  bytesPerRequest: number = DEFAULT_BYTES_PER_REQUEST,
): Strategy {
  return mode === "upstream" ? new UpstreamNetworkOverhead() : new StrictNetworkOverhead(bytesPerRequest);
}

/** Reproduces the plugin's numbers and messages exactly. */
export class UpstreamNetworkOverhead implements Strategy {
  readonly name = NETWORK_OVERHEAD;
  readonly mode = "upstream";

  /** Rejects candidates that violate more limits of placed dependencies than they satisfy. */
  filter(problem: PlacementProblem): ReadonlyMap<string, string> {
    const input = upstreamInput(problem);
    if ("equal" in input) return NONE;
    const { candidates: names } = problem;
    if ("failed" in input) return new Map(names.map((name) => [name, input.failed]));
    const { graph, table, pairs } = input;
    const ids = graph.idsOf(names);
    const votes = tally(table, pairs);
    const { satisfied, violated } = votes;
    const bad = Uint8Array.from(violated, (count, place) => (count > satisfied[place]! ? 1 : 0));
    const flags = new Uint8Array(names.length);
    for (let row = 0; row < flags.length; row++) flags[row] = bad[placeAt(votes, ids[row]!)]!;
    const reason = (row: number): string => {
      const place = placeAt(votes, ids[row]!);
      return rejection(names[row]!, satisfied[place]!, violated[place]!);
    };
    return new RejectedNodes({ names, ids, graph, flags, reason });
  }

  /** Scores infeasible candidates, too: kube-scheduler asks only about nodes that passed. */
  score(problem: PlacementProblem, pool: ColumnPool = new ColumnPool()): ScoreTable {
    const { candidates: names, infeasible = NONE } = problem;
    const ids = problem.cluster.graph?.idsOf(names) ?? new Int32Array(names.length).fill(-1);
    pool.reset(names.length, COLUMNS);
    const raw = pool.take();
    const score = pool.take();
    const input = upstreamInput(problem);
    const part =
      "pairs" in input ? accumulated(pool, raw, ids, tally(input.table, input.pairs)) : neutral(input);
    normalise(raw, score);
    const scale = part.column === null ? null : minMax(part.column, null);
    return finished({ problem, strategy: this, ids, raw, score, part, scale, infeasible });
  }
}

/** Uses measured data: node to node, both directions, replicas weighted by their share of the traffic. */
export class StrictNetworkOverhead implements Strategy {
  readonly name = NETWORK_OVERHEAD;
  readonly mode = "strict";
  readonly #channels: WeightedChannels;
  readonly #vectors: NetworkVectors;

  constructor(bytesPerRequest: number = DEFAULT_BYTES_PER_REQUEST) {
    const value = requestValue(bytesPerRequest);
    this.#channels = new WeightedChannels(value);
    this.#vectors = new NetworkVectors(value);
  }

  score(problem: PlacementProblem, pool: ColumnPool = new ColumnPool()): ScoreTable {
    const { candidates: names, infeasible = NONE } = problem;
    const ids = problem.cluster.graph?.idsOf(names) ?? new Int32Array(names.length).fill(-1);
    pool.reset(names.length, COLUMNS);
    const raw = pool.take();
    const score = pool.take();
    const weighted = this.#channels.of(problem);
    const part = withRemark(networkPart(weighted.problem, ids, pool, this.#vectors), weighted.remark);
    const feasible =
      infeasible.size === 0 ? null : Uint8Array.from(names, (name) => (infeasible.has(name) ? 0 : 1));
    const { column } = part;
    const scale = column === null ? null : minMax(column, feasible);
    for (let row = 0; row < names.length; row++) {
      raw[row] = column === null || ids[row]! < 0 ? Number.NaN : 0 - column[row]!;
      if (feasible !== null && feasible[row] === 0) score[row] = 0;
      else score[row] = scale === null ? NEUTRAL_SCORE : 100 * normalised(column![row]!, scale);
    }
    return finished({ problem, strategy: this, ids, raw, score, part, scale, infeasible });
  }
}

function placeAt({ placeOf, stranger }: UpstreamTally, id: number): number {
  return id < 0 ? stranger : placeOf[id]!;
}

/** Fills the raw scores. The part holds their negatives, because a larger part is better. */
function accumulated(pool: ColumnPool, raw: Float64Array, ids: Int32Array, sums: UpstreamTally): PartColumn {
  const column = pool.take();
  const { placeOf, stranger, cost } = sums;
  for (let row = 0; row < ids.length; row++) {
    const id = ids[row]!;
    const own = cost[id < 0 ? stranger : placeOf[id]!]!;
    raw[row] = own;
    column[row] = 0 - own;
  }
  return { column, remarks: () => [] };
}

function neutral(input: { readonly equal: string } | { readonly failed: string }): PartColumn {
  return { column: null, reason: "equal" in input ? input.equal : input.failed };
}

function withRemark(part: PartColumn, remark: string | null): PartColumn {
  if (part.column === null || remark === null) return part;
  const { remarks } = part;
  return { ...part, remarks: () => [remark, ...remarks()] };
}

function requestValue(bytesPerRequest: number): RequestValue {
  if (!(bytesPerRequest >= 0 && bytesPerRequest < Infinity)) {
    throw new PlacementError(
      "invalid_setting",
      `bytesPerRequest must be a finite number of at least 0, got ${bytesPerRequest}`,
    );
  }
  if (bytesPerRequest === 0) return { bytesPerRequest: null, reason: "bytesPerRequest is 0" };
  return { bytesPerRequest };
}

interface Finished {
  readonly problem: PlacementProblem;
  readonly strategy: Strategy;
  readonly ids: Int32Array;
  readonly raw: Float64Array;
  readonly score: Float64Array;
  readonly part: PartColumn;
  readonly scale: MinMax | null;
  readonly infeasible: ReadonlyMap<string, string>;
}

function finished({ problem, strategy, ids, raw, score, part, scale, infeasible }: Finished): ScoreTable {
  const table = {
    strategy: strategy.name,
    mode: strategy.mode,
    names: problem.candidates,
    ids,
    raw,
    score,
    parts: { network: part.column },
    infeasible,
  };
  const parts = [{ name: "network", weight: 1, source: part, scale }];
  return { ...table, explanation: explain(problem, table, parts, "normalized") };
}
