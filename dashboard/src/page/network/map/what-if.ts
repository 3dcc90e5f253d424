// What would be if pods were elsewhere: computed from the graphs in the page; nothing is moved. Pure.
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { channelCosts, type ChannelCost } from "../../model/costs.ts";
import { milliseconds } from "../../model/format.ts";
import type { LatencyBetween } from "../../model/link-latency.ts";
import {
  requestTime,
  slowestChain,
  withMoves,
  type CostBetween,
  type PodMove,
  type RequestTime,
} from "../../model/request-time.ts";

/** A figure and its bounds, ms; null bounds: its error isn't known. */
export interface Estimate {
  readonly ms: number;
  readonly lowMs: number | null;
  readonly highMs: number | null;
}

/** Today and with the moves, or why there is none. */
export type Change = { readonly today: Estimate; readonly moved: Estimate } | { readonly reason: string };

/** End to end, as somebody measures it. */
interface Measured {
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

export interface Prediction {
  readonly today: RequestTime;
  readonly moved: RequestTime;
  /** `measured`: end to end. `network`: round trips of the slowest chain of calls alone. */
  readonly kind: "measured" | "network";
  readonly p50: Change;
  readonly p95: Change;
}

/** Inputs of a prediction: the network, and the latency of requests. */
export interface Known {
  readonly costBetween: CostBetween;
  readonly latencyBetween: LatencyBetween;
  /** null: nobody measures requests end to end here. */
  readonly measured: Measured | null;
}

/**
 * Predicts the slowest chain of calls, which may be another chain after the moves. A measured percentile is
 * shifted by the difference of both chains: the rest of a request stays as it is. Returns null if no request
 * is counted or no way is known.
 */
export function predict(
  workflow: WorkflowGraphSnapshot,
  moves: readonly PodMove[],
  { costBetween, latencyBetween, measured }: Known,
): Prediction | null {
  const placed = withMoves(workflow, moves);
  const today = requestTime(workflow, costBetween);
  const moved = requestTime(placed, costBetween);
  if (today === null || moved === null) return null;
  const [before, after] = [
    chainLatency(workflow, latencyBetween, today.leftOut),
    chainLatency(placed, latencyBetween, moved.leftOut),
  ];
  const isMeasured = measured !== null && measured.p50Ms !== null && measured.p95Ms !== null;
  return {
    today,
    moved,
    kind: isMeasured ? "measured" : "network",
    p50: changeOf(before.p50, after.p50, isMeasured ? measured.p50Ms : null),
    p95: changeOf(before.p95, after.p95, isMeasured ? measured.p95Ms : null),
  };
}

interface ChainLatency {
  readonly p50: Estimate | { readonly reason: string };
  readonly p95: Estimate | { readonly reason: string };
}

/**
 * The percentiles of a sum of calls. p50: the sum of the medians, with the sum of their errors. p95: the sum
 * of the medians and the root of the squared distances to p95, as for calls that are slow independently of
 * each other; at most the sum of all p95, as if all were slow at once.
 */
function chainLatency(
  workflow: WorkflowGraphSnapshot,
  latencyBetween: LatencyBetween,
  leftOut: number,
): ChainLatency {
  const chain = slowestChain(workflow, (source, target) => latencyBetween(source, target).p50Ms);
  if (chain.some(({ ms }) => ms === Number.POSITIVE_INFINITY)) {
    const reason = "pods that call each other can't reach each other";
    return { p50: { reason }, p95: { reason } };
  }
  const of = (figure: "p95Ms" | "errorMs"): readonly number[] =>
    figuresOf(workflow, chain, (source, target) => latencyBetween(source, target)[figure]);
  const p50Ms = chain.reduce((sum, { ms }) => sum + ms, 0);
  const errorMs = leftOut > 0 ? Number.NaN : of("errorMs").reduce((sum, ms) => sum + ms, 0);
  const p50 = bounded(p50Ms, p50Ms - errorMs, p50Ms + errorMs);
  const p95s = of("p95Ms");
  const unknown = chain.find((_, index) => Number.isNaN(p95s[index]));
  if (unknown !== undefined) {
    const { source, target } = unknown.pair ?? unknown.channel;
    return { p50, p95: { reason: `too few answers between ${source} and ${target} for a percentile` } };
  }
  const tails = chain.map(({ ms }, index) => p95s[index]! - ms);
  const independentMs = p50Ms + Math.hypot(...tails);
  const togetherMs = p50Ms + tails.reduce((sum, ms) => sum + ms, 0);
  return { p50, p95: bounded(independentMs, independentMs, Math.max(independentMs, togetherMs)) };
}

/** Another figure of the same calls; NaN if a pair of pods lacks it. */
function figuresOf(
  workflow: WorkflowGraphSnapshot,
  chain: readonly ChannelCost[],
  figureBetween: CostBetween,
): readonly number[] {
  const costs = new Map(
    channelCosts(workflow, figureBetween).map(({ channel, ms }) => [
      `${channel.source}\n${channel.target}`,
      ms,
    ]),
  );
  return chain.map(({ channel }) => costs.get(`${channel.source}\n${channel.target}`) ?? Number.NaN);
}

const bounded = (ms: number, lowMs: number, highMs: number): Estimate => ({
  ms,
  lowMs: Number.isFinite(lowMs) ? Math.max(0, lowMs) : null,
  highMs: Number.isFinite(highMs) ? highMs : null,
});

function changeOf(
  before: Estimate | { readonly reason: string },
  after: Estimate | { readonly reason: string },
  measuredMs: number | null,
): Change {
  if ("reason" in before) return before;
  if ("reason" in after) return after;
  if (measuredMs === null) return { today: before, moved: after };
  const today: Estimate = { ms: measuredMs, lowMs: measuredMs, highMs: measuredMs };
  const shifted = Math.max(0, measuredMs + after.ms - before.ms);
  const [low, high] = [difference(after.lowMs, before.highMs), difference(after.highMs, before.lowMs)];
  return {
    today,
    moved: bounded(shifted, low === null ? Number.NaN : measuredMs + low, measuredMs + (high ?? Number.NaN)),
  };
}

const difference = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : a - b;

/** The moves with one more; a pod that goes back to where it runs isn't moved. */
export function withMove(
  workflow: WorkflowGraphSnapshot,
  moves: readonly PodMove[],
  move: PodMove,
): readonly PodMove[] {
  const others = moves.filter(({ pod }) => pod !== move.pod);
  const runsOn = workflow.workloads.flatMap(({ pods }) => pods).find(({ name }) => name === move.pod)?.node;
  return runsOn === move.node ? others : [...others, move];
}

export function changeInWords(today: number, then: number): string {
  if (then === Number.POSITIVE_INFINITY) return "unreachable";
  const change = then - today;
  if (!Number.isFinite(change) || Math.abs(change) < 0.05) return "as today";
  return `${milliseconds(Math.abs(change))} ${change < 0 ? "less" : "more"}`;
}
