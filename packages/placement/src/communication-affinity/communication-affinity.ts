// Algorithm 1 of Marchese 2022, section 3.4.
import {
  DEFAULT_BYTES_PER_REQUEST,
  noTrafficReason,
  requestValue,
  trafficRemarks,
} from "../scoring/channel-traffic.ts";
import type { TrafficSources } from "../scoring/channel-traffic.ts";
import { ColumnPool } from "../scoring/columns.ts";
import { candidateIds, checkMinSpread, combineParts, DEFAULT_MIN_SPREAD } from "../scoring/combine.ts";
import { PlacementError } from "../scoring/errors.ts";
import { trafficOfWorkload } from "../scoring/neighbours.ts";
import type { PartColumn, Remarks } from "../scoring/network-part.ts";
import type { PlacementProblem } from "../scoring/problem.ts";
import type { ScoreTable } from "../scoring/score-table.ts";
import type { CombinationMode, Strategy } from "../scoring/strategy.ts";
import { attractionsOf } from "./attraction.ts";
import type { Attractions, ChannelValues } from "./attraction.ts";
import { ChannelTypes } from "./channel-types.ts";
import { closenessSums } from "./closeness.ts";

export interface CommunicationAffinityParameters {
  /** Weight of channel priorities; alpha + beta > 0. */
  readonly alpha: number;
  readonly beta: number;
  /** Weight of peers on the scored node, 1/ms: they count as 1 / gamma milliseconds away. */
  readonly gamma: number;
}

/** The paper leaves the values open. gamma 10 equals 0.1 ms, below most links. */
export const DEFAULT_AFFINITY: CommunicationAffinityParameters = { alpha: 0.5, beta: 0.5, gamma: 10 };

export const COMMUNICATION_AFFINITY = "communication-affinity";

export interface CommunicationAffinityOptions {
  readonly parameters?: CommunicationAffinityParameters;
  readonly channelTypes?: ChannelTypes;
  readonly bytesPerRequest?: number;
  readonly minSpread?: number;
}

const COLUMNS = 4;

export class CommunicationAffinity implements Strategy {
  readonly name = COMMUNICATION_AFFINITY;
  readonly mode: CombinationMode;
  readonly parameters: CommunicationAffinityParameters;
  readonly #values: ChannelValues;
  readonly #minSpread: number;

  constructor(mode: CombinationMode, options: CommunicationAffinityOptions = {}) {
    const { parameters = DEFAULT_AFFINITY, channelTypes = new ChannelTypes() } = options;
    const { bytesPerRequest = DEFAULT_BYTES_PER_REQUEST, minSpread = DEFAULT_MIN_SPREAD } = options;
    checkParameters(parameters, mode);
    checkMinSpread(minSpread);
    this.mode = mode;
    this.parameters = parameters;
    this.#minSpread = minSpread;
    this.#values = {
      counting: mode === "raw" ? "paper" : "shared",
      types: channelTypes,
      requestValue: requestValue(mode, bytesPerRequest),
    };
  }

  score(problem: PlacementProblem, pool: ColumnPool = new ColumnPool()): ScoreTable {
    const { alpha, beta } = this.parameters;
    const ids = candidateIds(problem);
    pool.reset(problem.candidates.length, COLUMNS);
    const { priority, traffic } = this.#columns(problem, ids, pool);
    return combineParts(problem, ids, pool, {
      strategy: this.name,
      mode: this.mode,
      minSpread: this.#minSpread,
      parts: [
        { name: "priority", weight: alpha / (alpha + beta), rawWeight: alpha, source: priority },
        { name: "traffic", weight: beta / (alpha + beta), rawWeight: beta, source: traffic },
      ],
    });
  }

  #columns(
    problem: PlacementProblem,
    ids: Int32Array,
    pool: ColumnPool,
  ): { priority: PartColumn; traffic: PartColumn } {
    const { pod, cluster, workflow, assumed = [] } = problem;
    if (cluster.graph === null) return bothNeutral(cluster.reason);
    if (pod.workload === null) return bothNeutral("the pod belongs to no workflow");
    if (workflow.graph === null) return bothNeutral(workflow.reason);
    const attractions = attractionsOf(pod, cluster.graph, workflow.graph, assumed, this.#values);
    const quiet = quietReason(attractions);
    if (quiet !== null) return bothNeutral(quiet);
    const unknownMs = cluster.graph.medianKnownCost();
    if (unknownMs === null) return bothNeutral("no network cost is known");
    const sums = closenessSums(problem.candidates, ids, cluster.graph, attractions, pool, {
      gamma: this.parameters.gamma,
      unknownMs,
      capped: this.mode === "normalized",
    });
    const sources = trafficOfWorkload(workflow.graph, pod.workload, this.#values.requestValue);
    const said = costRemarks(sums.unknown, unknownMs);
    return {
      priority: anyIn(sums.priority, noPriorityReason(attractions), [
        ...said,
        ...typeRemarks(attractions.unknownTypes),
        ...priorityRemarks(attractions.beyondLargest, this.#values.types.largestPriority),
      ]),
      traffic: trafficColumn(sums.traffic, sources),
    };
  }
}

function checkParameters(
  { alpha, beta, gamma }: CommunicationAffinityParameters,
  mode: CombinationMode,
): void {
  for (const [name, value] of Object.entries({ alpha, beta, gamma })) {
    if (!(value >= 0 && value < Infinity))
      throw invalid(`${name} must be a finite number of at least 0, got ${value}`);
  }
  if (alpha + beta === 0) throw invalid(`alpha + beta must be above 0, got 0 + 0`);
  // gamma caps closeness: at 0, all nodes would be equally far.
  if (mode === "normalized" && gamma === 0) throw invalid("gamma must be above 0 in mode normalized, got 0");
}

function invalid(message: string): PlacementError {
  return new PlacementError("invalid_setting", message);
}

function bothNeutral(reason: string): { priority: PartColumn; traffic: PartColumn } {
  const part: PartColumn = { column: null, reason };
  return { priority: part, traffic: part };
}

function quietReason({ even, nearest }: Attractions): string | null {
  const placed = even.length > 0 || nearest.some(({ exchange }) => exchange.peers.length > 0);
  return placed ? null : "none of the pods it talks to is placed";
}

function anyIn(column: Float64Array, reason: string, said: readonly string[]): PartColumn {
  return column.some((value) => value !== 0) ? { column, remarks: constant(said) } : { column: null, reason };
}

function trafficColumn(column: Float64Array, sources: TrafficSources): PartColumn {
  if (!column.some((value) => value !== 0))
    return { column: null, reason: noTrafficReason(sources) ?? "there is no traffic with placed pods" };
  return { column, remarks: () => trafficRemarks(sources), byRequests: sources.byRequests };
}

function constant(said: readonly string[]): Remarks {
  return () => said;
}

function costRemarks(unknown: number, unknownMs: number): string[] {
  if (unknown === 0) return [];
  return [
    `${unknown} network costs were unknown and counted as the median known cost, ${unknownMs.toFixed(3)} ms`,
  ];
}

function noPriorityReason({ unknownTypes }: Attractions): string {
  return ["no channel to a placed pod has a priority", ...typeRemarks(unknownTypes)].join("; ");
}

function typeRemarks(unknownTypes: readonly string[]): string[] {
  if (unknownTypes.length === 0) return [];
  return [
    `nobody declared the relationship types ${unknownTypes.join(", ")}: they have the base type's priority (scheduler.channelPriorities declares types)`,
  ];
}

/** Maximum number of channels in a remark, because decisions store remarks. */
const MAX_NAMED = 5;

function priorityRemarks(channels: readonly string[], largest: number): string[] {
  if (channels.length === 0) return [];
  const rest = channels.length > MAX_NAMED ? ` and ${channels.length - MAX_NAMED} more` : "";
  const named = channels.slice(0, MAX_NAMED).join(", ");
  return [
    `priorities beyond ${largest}, the largest of the relationship types, counted as it: ${named}${rest}`,
  ];
}
