// Predicts the effect of moving pods from the graphs. Nothing is moved. Pure.
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

export interface Estimate {
  readonly ms: number;
  readonly lowMs: number | null;
  readonly highMs: number | null;
}

export type Change = { readonly today: Estimate; readonly moved: Estimate } | { readonly reason: string };

interface Measured {
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

export interface Prediction {
  readonly today: RequestTime;
  readonly moved: RequestTime;
  /** `measured`: end to end. `network`: only round trips of the slowest chain of calls. */
  readonly kind: "measured" | "network";
  readonly p50: Change;
  readonly p95: Change;
}

export interface Known {
  readonly costBetween: CostBetween;
  readonly latencyBetween: LatencyBetween;
  readonly measured: Measured | null;
}

/**
 * Predicts the slowest chain of calls, which the moves may change. Shifts a measured percentile by the
 * difference of both chains, leaving the rest of a request unchanged. Returns null without counted requests
 * or known round trips.
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
 * Percentiles of a sum of calls. p50: sum of medians and of errors. p95: sum of medians plus the root of the
 * squared distances to p95 (independent calls), at most the sum of all p95 (fully correlated calls).
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

/** Adds a move; returning a pod to its node removes its move. */
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
