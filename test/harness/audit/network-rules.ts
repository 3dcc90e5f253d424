import type { Link, WorkflowGraphSnapshot } from "@isochrone/topology";
import type { Verdict } from "./findings.ts";
import type { NetworkTruth } from "./network-truth.ts";

/** One window, plus the delay that a busy machine adds until a change is visible. */
const SEEN_WITHIN_MS = 60_000;
/** Jitter of the emulator and of timers. The product's own error applies if it is larger. */
const TOLERANCE_MS = 3;
const TOLERANCE_SHARE = 0.25;
/** Delay that a busy machine adds to all packets, in addition to the emulated delay. */
const MACHINE_MS = 2;
/** Factor on the product's stated error, which is about two standard errors. */
const ERRORS = 1.5;
const LOST_TOLERANCE = 0.1;

type StatedLink = Pick<Link, "source" | "target" | "rttMs" | "lossRatio" | "costMs" | "errorMs" | "origin"> &
  Partial<Pick<Link, "provisional">>;

export function costIsTrue(link: StatedLink, atMs: number, truth: NetworkTruth): Verdict {
  const { source, target, costMs, errorMs, origin, provisional = false } = link;
  if (costMs === null || origin !== "measured" || provisional) return null;
  const range = truth.range(source, target, atMs - SEEN_WITHIN_MS, atMs);
  if (range === null) return null;
  if (!range.wasWhole) return `the pair was cut, a cost of ${costMs.toFixed(1)} ms is stated`;
  const slackOf = (ms: number): number =>
    errorMs === null ? Math.max(TOLERANCE_MS, TOLERANCE_SHARE * ms) : Math.max(MACHINE_MS, ERRORS * errorMs);
  const [low, high] = [range.minMs - slackOf(range.minMs), range.maxMs + slackOf(range.maxMs)];
  if (costMs >= low && costMs <= high) return null;
  const stated = `${costMs.toFixed(1)} ms${errorMs === null ? " without an error" : ` ± ${errorMs.toFixed(1)} ms`}`;
  return `${stated}; the emulator had ${range.minMs.toFixed(2)} to ${range.maxMs.toFixed(2)} ms`;
}

export function deadIsTrue(
  { source, target, lossRatio }: StatedLink,
  atMs: number,
  truth: NetworkTruth,
): Verdict {
  if (lossRatio !== 1) return null;
  const range = truth.range(source, target, atMs - SEEN_WITHIN_MS, atMs);
  if (range === null || range.wasCut || truth.mostLoss(source, target) >= 0.5) return null;
  return `${source} -> ${target} is called dead and was never cut`;
}

export function lossIsTrue(
  { source, target, lossRatio }: StatedLink,
  atMs: number,
  truth: NetworkTruth,
): Verdict {
  if (lossRatio === null || lossRatio === 1) return null;
  const range = truth.range(source, target, atMs - SEEN_WITHIN_MS, atMs);
  if (range === null || range.wasCut) return null;
  const most = truth.mostLoss(source, target);
  // Two standard deviations of a binomial share of about 60 packets.
  const allowed = most + LOST_TOLERANCE + 2 * Math.sqrt((most * (1 - most)) / 60);
  if (lossRatio <= allowed) return null;
  return `${source} -> ${target} is said to lose ${(100 * lossRatio).toFixed(0)} %, the emulator loses at most ${(100 * most).toFixed(0)} %`;
}

type Placement = ReadonlyMap<string, string>;
type Channels = Pick<WorkflowGraphSnapshot, "channels">["channels"];

/** Unit: bytes/s x ms by emulated round trips. Returns null if a path is cut or a pod has no node. */
export function trueCost(
  channels: Channels,
  at: Placement,
  atMs: number,
  truth: NetworkTruth,
): number | null {
  let sum = 0;
  for (const { source, target, bytesPerSecond } of channels) {
    const [from, to] = [at.get(source), at.get(target)];
    // The load comes from outside the cluster.
    if (from === undefined || to === undefined) continue;
    const ms = truth.rttMs(from, to, atMs);
    if (ms === null) return null;
    sum += (bytesPerSecond ?? 0) * ms;
  }
  return sum;
}

export interface StatedPlan {
  readonly savedRatio?: number | null | undefined;
  readonly cost: { readonly network: number } | null;
  readonly today?: { readonly network: number } | undefined;
  readonly pods: readonly {
    readonly name: string;
    readonly workload: string | null;
    readonly node: string | null;
    readonly from?: string | undefined;
    /** Reason that blocks the move now. Blocked moves don't count towards the saving. */
    readonly obstacle?: string | null | undefined;
  }[];
}

export function plannedPlacement({ pods }: Pick<StatedPlan, "pods">, today: Placement): Placement {
  const planned = new Map(today);
  for (const { workload, node, obstacle = null } of pods)
    if (workload !== null && node !== null && obstacle === null) planned.set(workload, node);
  return planned;
}

export function bestPlanIsTrue(
  plan: StatedPlan,
  today: Placement,
  channels: Channels,
  atMs: number,
  truth: NetworkTruth,
): Verdict {
  const { savedRatio = null, pods } = plan;
  if (savedRatio !== null && savedRatio < -0.005)
    return `the best plan is said to cost ${(-100 * savedRatio).toFixed(1)} % more than today`;
  const moves = pods.filter(
    ({ from, node, obstacle = null }) => node !== null && node !== from && obstacle === null,
  );
  if (pods.some(({ from, node }) => from !== undefined && node === from)) return "a pod is to go where it is";
  if (moves.length === 0) return null;
  const planned = new Map(today);
  for (const { workload, node } of moves) if (workload !== null) planned.set(workload, node!);
  const [before, after] = [trueCost(channels, today, atMs, truth), trueCost(channels, planned, atMs, truth)];
  if (after === null) return `the plan crosses a link that is cut`;
  if (before === null || after < before) return null;
  return `by the emulator the plan costs ${after.toFixed(0)} and today ${before.toFixed(0)} bytes/s x ms`;
}

/** Tolerance of a stated saving, as a share of today's cost. */
const SAVED_TOLERANCE = 0.25;

export function savedIsTrue(
  plan: StatedPlan,
  today: Placement,
  channels: Channels,
  atMs: number,
  truth: NetworkTruth,
): Verdict {
  const { savedRatio = null, pods } = plan;
  if (savedRatio === null || pods.length === 0) return null;
  const before = trueCost(channels, today, atMs, truth);
  const after = trueCost(channels, plannedPlacement(plan, today), atMs, truth);
  if (before === null || after === null || before === 0) return null;
  const saved = 1 - after / before;
  if (savedRatio - saved <= SAVED_TOLERANCE) return null;
  return `${(100 * savedRatio).toFixed(0)} % is said to be saved; by the emulator it is ${(100 * saved).toFixed(0)} %`;
}
